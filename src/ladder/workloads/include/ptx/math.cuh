// The operand types of products on tensor cores that accumulate in float32.
#pragma once

enum class Math { tf32, float16, bfloat16 };
