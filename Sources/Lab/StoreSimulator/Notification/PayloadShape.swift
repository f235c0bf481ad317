/// The members that Apple's payloads had at a time.
package enum PayloadShape: Hashable, Sendable, CaseIterable {
    /// The members of today.
    case current
    /// As in 2021: transaction and renewal info without environment, transactionReason, storefront, price and other later members.
    case year2021
}
