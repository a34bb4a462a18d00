-- The amount by which a client's change set raised each lot, in the order of `lots`, separated by spaces. NULL if the set
-- raised no lot. The guard adds these amounts to the lot's baseline (STK-22).
ALTER TABLE journal_lots ADD COLUMN raised TEXT;
