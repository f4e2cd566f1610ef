// The operand types of products on tensor cores with float32 accumulators.
#pragma once

enum class Math { tf32, float16, bfloat16 };
