/// Access at an instant.
extension ReferenceModel {
    /// One line for each contract with an owner.
    ///
    /// - Parameters:
    ///   - instant: in milliseconds since 1970.
    ///   - days: the duration of each non-renewing product.
    package func accessLines(at instant: Int64, days: [String: Int64]) -> [String] {
        let claims = makeClaims(makeOrders())
        return Dictionary(grouping: charges, by: \.key).compactMap { key, charges -> String? in
            guard let current = current(of: charges), current.givesAccess, let owner = owner(claims[key] ?? []) else { return nil }
            var until = accessUntil(current, among: charges)
            if until == nil { until = days[current.product].map { .instant(current.purchaseDate + $0 * 86_400_000) } }
            let isActive =
                switch until {
                case nil: false
                case .forever: true
                case .instant(let end): instant < end
                }
            return LedgerLine.text(
                "access",
                key.environment,
                "\(key.id) \(current.product)",
                [("user_id", owner), ("product_id", current.product), ("active", isActive ? "true" : "false")]
            )
        }.sorted()
    }

    /// The instants at which access ends, and those one millisecond before.
    package func accessEndInstants() -> [Int64] {
        Dictionary(grouping: charges, by: \.key).values.flatMap { charges -> [Int64] in
            guard let current = current(of: charges), case .instant(let end) = accessUntil(current, among: charges) else { return [] }
            return [end - 1, end]
        }
    }
}
