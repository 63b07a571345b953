"""Text for language models: tokenizers, data, generation."""
