import Ledger
import Postgres

/// The statements that look for what an event is about; each row comes as JSON in a column `row`.
enum BooksQuery {
    static func transaction(_ subject: ExplainedSubject) -> Statement {
        """
        SELECT signed_date, payload_hash AS hash, row_to_json(t)::text AS row FROM appstore.transactions AS t
        WHERE environment = \(subject.environment) AND transaction_id = \(subject.transactionID)
        """
    }

    static func subscription(_ subject: ExplainedSubject) -> Statement {
        """
        SELECT signed_date, fact_hash AS hash, row_to_json(s)::text AS row FROM appstore.subscriptions AS s
        WHERE environment = \(subject.environment) AND original_transaction_id = \(subject.contractID)
        """
    }

    static func contract(_ subject: ExplainedSubject) -> Statement {
        """
        SELECT row_to_json(m)::text AS row FROM appstore.member_contracts AS m
        WHERE environment = \(subject.environment) AND contract_id = \(subject.contractID)
        """
    }

    static func claims(_ subject: ExplainedSubject) -> Statement {
        """
        SELECT row_to_json(c)::text AS row FROM appstore.claims AS c
        WHERE environment = \(subject.environment) AND original_transaction_id = \(subject.contractID)
        ORDER BY effective_at DESC, evidence COLLATE "C" DESC
        """
    }

    static func ownerLinks(_ subject: ExplainedSubject) -> Statement {
        """
        SELECT row_to_json(l)::text AS row FROM appstore.owner_links AS l
        WHERE environment = \(subject.environment) AND original_transaction_id = \(subject.contractID)
        ORDER BY linked_at DESC
        """
    }

    static func submissions(_ subject: ExplainedSubject) -> Statement {
        """
        SELECT row_to_json(s)::text AS row FROM appstore.submissions AS s
        WHERE environment = \(subject.environment) AND original_transaction_id = \(subject.contractID)
        ORDER BY received_at, event_id
        """
    }

    static func orders(_ subject: ExplainedSubject) -> Statement {
        """
        SELECT row_to_json(o)::text AS row FROM appstore.orders AS o
        WHERE o.environment = \(subject.environment) AND o.no IN (
            SELECT named.no
            FROM appstore.transactions AS t, unnest(ARRAY[t.order_no, t.first_token, t.app_account_token]) AS named (no)
            WHERE t.environment = \(subject.environment) AND t.transaction_id = \(subject.transactionID))
        ORDER BY o.paid_at, o.no
        """
    }

    /// By key, whoever brought it; by event, whatever this version makes of it.
    static func effects(_ subject: ExplainedSubject) -> Statement {
        """
        SELECT row_to_json(e)::text AS row
        FROM (
            SELECT e.* FROM appstore.effects AS e
            JOIN unnest(\(subject.effects.map(\.kind.rawValue)), \(subject.effects.map(\.subject))) AS wanted (kind, effect_key)
                ON e.environment = \(subject.environment) AND e.kind = wanted.kind AND e.effect_key = wanted.effect_key
            UNION
            SELECT e.* FROM appstore.effects AS e
            WHERE e.environment = \(subject.environment) AND e.original_transaction_id = \(subject.contractID)
              AND e.event_id = \(subject.eventID)
        ) AS e
        ORDER BY e.occurred_at, e.effect_id
        """
    }

    static func refundStatements(_ subject: ExplainedSubject) -> Statement {
        """
        SELECT row_to_json(r)::text AS row FROM appstore.refund_statements AS r
        WHERE environment = \(subject.environment) AND transaction_id = \(subject.transactionID)
        ORDER BY signed_date, notification_uuid
        """
    }

    static func firstEvent(_ subject: ExplainedSubject) -> Statement {
        """
        SELECT first_event_id FROM appstore.notifications_seen
        WHERE environment = \(subject.environment) AND notification_uuid = \(subject.notificationUUID)
        """
    }

    /// The receipt halves of the charges that receipts in the event tell of.
    static func receiptHalves(_ subject: ExplainedSubject) -> Statement {
        """
        SELECT transaction_id AS id, receipt_date AS signed_date, receipt_hash AS hash FROM appstore.transactions
        WHERE environment = \(subject.environment) AND transaction_id = ANY (\(subject.receiptCharges))
        """
    }

    /// Of the contracts that the event tells of, and of the one that it is about; whichever app tells of them.
    static func legacyRenewals(_ subject: ExplainedSubject) -> Statement {
        """
        SELECT original_transaction_id AS id, bundle_id, stated_at AS signed_date, fact_hash AS hash, row_to_json(l)::text AS row
        FROM appstore.legacy_renewals AS l
        WHERE environment = \(subject.environment)
          AND original_transaction_id = ANY (\(subject.legacyContracts + [subject.contractID].compactMap(\.self)))
        ORDER BY original_transaction_id, bundle_id
        """
    }

    static func receiptSubmissions(_ subject: ExplainedSubject) -> Statement {
        """
        SELECT row_to_json(s)::text AS row FROM appstore.receipt_submissions AS s
        WHERE environment = \(subject.environment) AND original_transaction_id = \(subject.contractID)
        ORDER BY received_at, event_id, transaction_id
        """
    }

    /// Without what is sent: what the event had asked for, or the call that it is the answer to.
    static func calls(_ subject: ExplainedSubject) -> Statement {
        """
        SELECT row_to_json(c)::text AS row FROM appstore.outbox_status AS c
        WHERE c.event_id = \(subject.eventID) OR c.answer_event_id = \(subject.eventID)
        ORDER BY c.call_id
        """
    }

    /// Other events about the same contract, with their bodies; the latest ones, when there are many.
    static func relatedEvents(_ subject: ExplainedSubject) -> Statement {
        """
        SELECT i.event_id, i.source, i.received_at, i.body, clock_timestamp() AS now
        FROM (
            SELECT o.event_id FROM appstore.outcomes AS o
            WHERE o.environment = \(subject.environment) AND o.original_transaction_id = \(subject.contractID) AND o.result <> 'rejected'
            UNION -- what tells of several contracts
            SELECT e.event_id FROM appstore.event_contracts AS e
            WHERE e.environment = \(subject.environment)
              AND e.original_transaction_id = ANY (\(subject.legacyContracts + [subject.contractID].compactMap(\.self)))
        ) AS about
        JOIN appstore.inbox AS i ON i.event_id = about.event_id
        WHERE i.event_id <> \(subject.eventID)
        ORDER BY i.event_id DESC LIMIT 100
        """
    }
}
