-- What a member was told and has not read yet is listed for the member, counted on every page, and goes with its age.
DROP INDEX notice_by_member;
CREATE INDEX notice_unread ON notice (member) WHERE acknowledged_at IS NULL;
CREATE INDEX notice_unread_by_age ON notice (at) WHERE acknowledged_at IS NULL;
