/// What the books say after a merge.
package struct MergeAnswer: Sendable {
    /// Charges whose register now holds this batch's fact and did not before.
    package var movedTransactions: Set<LedgerKey>
    package var movedSubscriptions: Set<LedgerKey>
    /// Charges whose receipt half now holds this batch's fact and did not before.
    package var movedReceipts: Set<LedgerKey>
    package var movedLegacyRenewals: Set<LegacyRenewalFact.Key>
    /// The notifications that said something new of a refund.
    package var movedRefundStatements: Set<NotificationKey>
    /// The event that brought each notification first, in this batch or long ago.
    package var firstEvents: [NotificationKey: Int64]
    /// The event that brought each effect, in this batch or long ago.
    package var effectEvents: [EffectKey: Int64]
    /// What the books know of each post of the batch.
    package var posts: [ClientPost.Key: KnownPost]

    /// What the books know of a client's post.
    package struct KnownPost: Hashable, Sendable {
        /// The user of the order that the named transaction pays, else of its contract; nil where there is none.
        package var owner: String?
        /// The event that brought the post first, in this batch or long ago.
        package var firstEventID: Int64

        package init(owner: String?, firstEventID: Int64) {
            self.owner = owner
            self.firstEventID = firstEventID
        }
    }

    package init(
        movedTransactions: Set<LedgerKey> = [],
        movedSubscriptions: Set<LedgerKey> = [],
        movedReceipts: Set<LedgerKey> = [],
        movedLegacyRenewals: Set<LegacyRenewalFact.Key> = [],
        movedRefundStatements: Set<NotificationKey> = [],
        firstEvents: [NotificationKey: Int64] = [:],
        effectEvents: [EffectKey: Int64] = [:],
        posts: [ClientPost.Key: KnownPost] = [:]
    ) {
        self.movedTransactions = movedTransactions
        self.movedSubscriptions = movedSubscriptions
        self.movedReceipts = movedReceipts
        self.movedLegacyRenewals = movedLegacyRenewals
        self.movedRefundStatements = movedRefundStatements
        self.firstEvents = firstEvents
        self.effectEvents = effectEvents
        self.posts = posts
    }
}
