/// What the books say after a merge.
package struct MergeAnswer: Sendable {
    /// Charges whose register now holds this batch's fact and did not before.
    package var movedTransactions: Set<LedgerKey>
    package var movedSubscriptions: Set<LedgerKey>
    /// Charges whose receipt half now holds this batch's fact and did not before.
    package var movedReceipts: Set<LedgerKey>
    package var movedLegacyRenewals: Set<LegacyRenewalFact.Key>
    /// The event that brought each notificationUUID first, in this batch or long ago.
    package var firstEvents: [LedgerKey: Int64]
    /// The event that brought each effect, in this batch or long ago.
    package var effectEvents: [EffectKey: Int64]
    /// What the books know of each charge that the batch submits or names.
    package var submissions: [Submission.Key: SubmittedCharge]
    /// The event that brought each submission of a receipt first, in this batch or long ago.
    package var receiptSubmissions: [ReceiptSubmission.Key: Int64]

    /// A charge that somebody posted as his own.
    package struct SubmittedCharge: Hashable, Sendable {
        /// The user of the order that the charge points to, else its contract's; nil while it is nobody's.
        package var owner: String?
        /// The event that brought this submission first, in this batch or long ago; nil of a charge that is only named.
        package var firstEventID: Int64?

        package init(owner: String?, firstEventID: Int64?) {
            self.owner = owner
            self.firstEventID = firstEventID
        }
    }

    package init(
        movedTransactions: Set<LedgerKey> = [],
        movedSubscriptions: Set<LedgerKey> = [],
        movedReceipts: Set<LedgerKey> = [],
        movedLegacyRenewals: Set<LegacyRenewalFact.Key> = [],
        firstEvents: [LedgerKey: Int64] = [:],
        effectEvents: [EffectKey: Int64] = [:],
        submissions: [Submission.Key: SubmittedCharge] = [:],
        receiptSubmissions: [ReceiptSubmission.Key: Int64] = [:]
    ) {
        self.movedTransactions = movedTransactions
        self.movedSubscriptions = movedSubscriptions
        self.movedReceipts = movedReceipts
        self.movedLegacyRenewals = movedLegacyRenewals
        self.firstEvents = firstEvents
        self.effectEvents = effectEvents
        self.submissions = submissions
        self.receiptSubmissions = receiptSubmissions
    }
}
