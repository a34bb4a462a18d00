-- Which clients wrote for a member is asked by every look at what can be taken back: from one of them to the next.
CREATE INDEX journal_set_of_client ON journal_set (member, client) WHERE client IS NOT NULL;

-- What a notice is about was a name before 0004, and is an id since. A client's name that is no id is shown as it is.
-- Of a disconnected installation it was its label, or its client's id where it had none: the one that was disconnected at
-- that moment is it.
UPDATE notice SET subject = coalesce(
    (SELECT i.id FROM installation i WHERE i.member = notice.member AND i.revoked_at = notice.at
        AND coalesce(i.label, i.client) = notice.subject ORDER BY i.id LIMIT 1), subject)
WHERE kind = 'installation-disconnected' AND acknowledged_at IS NULL
    AND NOT EXISTS (SELECT 1 FROM installation i WHERE i.id = notice.subject AND i.member = notice.member);
