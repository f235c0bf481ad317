import Ledger
import Postgres
import SQL

/// The statements that read what an event is about; each row comes as JSON in a column `row`.
enum LedgerQuery {
    static func transaction(_ subject: ExplainedSubject) -> Statement {
        Statement(.explainTransaction, ["environment": subject.environment, "transaction_id": subject.transactionID])
    }

    static func subscription(_ subject: ExplainedSubject) -> Statement { ofContract(.explainSubscription, subject) }

    static func contract(_ subject: ExplainedSubject) -> Statement { ofContract(.explainContract, subject) }

    static func claims(_ subject: ExplainedSubject) -> Statement { ofContract(.explainOwnershipClaims, subject) }

    static func ownerLinks(_ subject: ExplainedSubject) -> Statement { ofContract(.explainOwnerLinks, subject) }

    static func posts(_ subject: ExplainedSubject) -> Statement { ofContract(.explainClientPosts, subject) }

    static func orders(_ subject: ExplainedSubject) -> Statement {
        Statement(.explainOrders, ["environment": subject.environment, "transaction_id": subject.transactionID])
    }

    /// By key, whichever event brought it; by event, whatever this version makes of it.
    static func effects(_ subject: ExplainedSubject) -> Statement {
        Statement(
            .explainEffects,
            [
                "effect_ids": subject.effects.map(\.id), "environment": subject.environment,
                "original_transaction_id": subject.contractID, "event_id": subject.eventID,
            ]
        )
    }

    static func refundStatements(_ subject: ExplainedSubject) -> Statement {
        Statement(.explainRefundRequests, ["environment": subject.environment, "transaction_id": subject.transactionID])
    }

    static func firstEvent(_ subject: ExplainedSubject) -> Statement {
        Statement(.explainFirstEvent, ["environment": subject.environment, "notification_uuid": subject.notificationUUID])
    }

    /// The receipt halves of the transactions that receipts in the event tell of.
    static func receiptHalves(_ subject: ExplainedSubject) -> Statement {
        Statement(.explainReceiptHalves, ["environment": subject.environment, "transaction_ids": subject.receiptCharges])
    }

    /// Of the contracts that the event tells of, and of the one that it is about, in any app.
    static func legacyRenewals(_ subject: ExplainedSubject) -> Statement {
        Statement(.explainV1Renewals, ["environment": subject.environment, "original_transaction_ids": subject.contracts])
    }

    /// Without what is sent: the calls that the event asked for, and the call that it is the answer of.
    static func calls(_ subject: ExplainedSubject) -> Statement {
        Statement(.explainCalls, ["event_id": subject.eventID])
    }

    /// Other events about the same contract, with their bodies; the latest ones, when there are many.
    static func relatedEvents(_ subject: ExplainedSubject) -> Statement {
        Statement(
            .explainRelatedEvents,
            [
                "environment": subject.environment, "original_transaction_id": subject.contractID,
                "original_transaction_ids": subject.contracts, "event_id": subject.eventID,
            ]
        )
    }

    private static func ofContract(_ file: StatementFile, _ subject: ExplainedSubject) -> Statement {
        Statement(file, ["environment": subject.environment, "original_transaction_id": subject.contractID])
    }
}

extension ExplainedSubject {
    /// The contract that the event is about, and those that it tells the renewal of.
    fileprivate var contracts: [String] { legacyContracts + [contractID].compactMap(\.self) }
}
