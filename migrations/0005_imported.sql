-- Experiments whose values somebody else measured.

-- JSON: Imported; none of what the lab itself measures
ALTER TABLE experiment ADD COLUMN imported TEXT;
