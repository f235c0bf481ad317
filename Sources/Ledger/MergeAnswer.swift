/// What the books say after a merge.
package struct MergeAnswer: Sendable {
    /// Charges whose register now holds this batch's fact and did not before.
    package var movedTransactions: Set<LedgerKey>
    package var movedSubscriptions: Set<LedgerKey>
    /// The event that brought each notificationUUID first, in this batch or long ago.
    package var firstEvents: [LedgerKey: Int64]
    /// The event that brought each effect, in this batch or long ago.
    package var effectEvents: [EffectKey: Int64]
    /// What the books know of each submission of the batch.
    package var submissions: [Submission.Key: SubmittedCharge]

    /// A charge that somebody posted as his own.
    package struct SubmittedCharge: Hashable, Sendable {
        /// The user of the order that the charge points to, else its contract's; nil while it is nobody's.
        package var owner: String?
        /// The event that brought this submission first, in this batch or long ago.
        package var firstEventID: Int64

        package init(owner: String?, firstEventID: Int64) {
            self.owner = owner
            self.firstEventID = firstEventID
        }
    }

    package init(
        movedTransactions: Set<LedgerKey> = [],
        movedSubscriptions: Set<LedgerKey> = [],
        firstEvents: [LedgerKey: Int64] = [:],
        effectEvents: [EffectKey: Int64] = [:],
        submissions: [Submission.Key: SubmittedCharge] = [:]
    ) {
        self.movedTransactions = movedTransactions
        self.movedSubscriptions = movedSubscriptions
        self.firstEvents = firstEvents
        self.effectEvents = effectEvents
        self.submissions = submissions
    }
}
