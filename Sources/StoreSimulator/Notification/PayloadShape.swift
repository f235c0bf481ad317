/// Which members Apple wrote at a time.
package enum PayloadShape: Hashable, Sendable, CaseIterable {
    /// All that Apple writes today.
    case current
    /// As in 2021: transaction and renewal info without environment, transactionReason, storefront, price and what else came later.
    case year2021
}
