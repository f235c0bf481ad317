/// What a merge changed in the ledger, and which event came first.
package struct MergeResult: Sendable {
    /// Charges whose register now holds this batch's fact and did not before.
    package var movedTransactions: Set<LedgerKey> = []
    package var movedSubscriptions: Set<LedgerKey> = []
    /// Charges whose receipt half now holds this batch's fact and did not before.
    package var movedReceipts: Set<LedgerKey> = []
    package var movedLegacyRenewals: Set<V1RenewalFact.Key> = []
    /// The notifications that said something new about a refund.
    package var movedRefundStatements: Set<NotificationKey> = []
    /// Events that changed a row of a register whose statements are merged one by one.
    package var movedStatements: Set<Int64> = []
    /// Of each event with an app transaction, the user whose app posted it first; nil where none has.
    package var appTransactionUsers: [Int64: String] = [:]
    /// The first event of each notification, in this batch or an earlier one.
    package var firstEvents: [NotificationKey: Int64] = [:]
    /// The event that brought each effect, in this batch or an earlier one.
    package var effectEvents: [EffectKey: Int64] = [:]
    /// Each post of the batch, as the ledger has it.
    package var posts: [ClientPost.Key: KnownPost] = [:]

    /// A client's post, as the ledger has it.
    package struct KnownPost: Hashable, Sendable {
        /// The user of the order that the named transaction pays, unless forgotten, else of its contract; nil where there is none.
        package var owner: String?
        /// The first event with the post, in this batch or an earlier one.
        package var firstEventID: Int64
        /// Whether a user who was forgotten owned the contract.
        package var wasForgotten: Bool

        package init(owner: String?, firstEventID: Int64, wasForgotten: Bool = false) {
            self.owner = owner
            self.firstEventID = firstEventID
            self.wasForgotten = wasForgotten
        }
    }

    package init() {}
}
