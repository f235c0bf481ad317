import AppStore
import FoundationEssentials
import Randomness
import StoreSimulator

/// The commands of the shop and its operators.
extension HistoryGenerator {
    /// Every token in the events, each once, in order of first occurrence.
    var seenTokens: [UUID] {
        var seen: Set<UUID> = []
        return seenTransactions.compactMap(\.transaction.appAccountToken).filter { seen.insert($0).inserted }
    }

    mutating func addCommands() {
        // The number of a purchase is a version 8 UUID, which create_order refuses.
        for token in seenTokens where token.uuid.6 >> 4 != 8 && !oneIn(4) { addOrder(token) }
        if oneIn(10) { addOrder(generator.uuid()) }
        guard oneIn(4) else { return }
        for _ in 0..<Int.random(in: 1...3, using: &generator) { addLink() }
    }

    /// Adds an order for the product bought with the token, or sometimes for another product or app.
    private mutating func addOrder(_ token: UUID) {
        let bought = seenTransactions.filter { $0.transaction.appAccountToken == token }.map(\.transaction.product.id)
        let product = bought.randomElement(using: &generator) ?? "something"
        let bundles: [String?] = [nil, nil, app.bundleID, app.bundleID, app.bundleID, "com.example.another"]
        commands.append(
            .createOrder(
                ShopOrder(
                    no: token.text,
                    user: users.randomElement(using: &generator) ?? "",
                    product: oneIn(8) ? "something" : product,
                    bundle: bundles.randomElement(using: &generator) ?? nil
                )
            )
        )
    }

    /// Adds an owner link of a known contract, or takes links back, at a purchase, just before or after it, or at any time.
    private mutating func addLink() {
        guard let (transaction, app) = seenTransactions.randomElement(using: &generator) else { return }
        let offsets: [Int64] = [0, -1, 1, 1_000_000, Int64.random(in: -10_000_000_000_000...10_000_000_000_000, using: &generator)]
        var linkedAt = transaction.purchaseDate.millisecondsSince1970 * 1000 + (offsets.randomElement(using: &generator) ?? 0)
        // An operator may link several contracts at the same instant.
        if case .linkOwner(let other) = commands.last, oneIn(3) { linkedAt = other.linkedAt }
        let link = OwnerLink(
            environment: app.environment,
            contract: transaction.originalTransactionID,
            user: oneIn(4) ? nil : users.randomElement(using: &generator) ?? "",
            linkedAt: linkedAt
        )
        let isTaken = commands.contains { command in
            guard case .linkOwner(let other) = command else { return false }
            return (other.environment, other.contract, other.linkedAt) == (link.environment, link.contract, linkedAt)
        }
        if !isTaken { commands.append(.linkOwner(link)) }
    }
}
