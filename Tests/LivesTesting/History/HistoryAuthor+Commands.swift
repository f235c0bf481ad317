import AppStore
import FoundationEssentials
import Randomness
import StoreSimulator

/// What the shop and its operators say.
extension HistoryAuthor {
    /// Every token that was seen, each once, in the order of their first sight.
    var seenTokens: [UUID] {
        var seen: Set<UUID> = []
        return seenTransactions.compactMap(\.transaction.appAccountToken).filter { seen.insert($0).inserted }
    }

    mutating func writeCommands() {
        // The shop cannot order with the number of a paid period, a version 5 UUID.
        for token in seenTokens where token.uuid.6 >> 4 != 5 && !oneIn(4) { order(token) }
        if oneIn(10) { order(generator.uuid()) }
        guard oneIn(4) else { return }
        for _ in 0..<Int.random(in: 1...3, using: &generator) { link() }
    }

    /// An order for what was bought with its token, or now and then for something else, or by another app.
    private mutating func order(_ token: UUID) {
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

    /// A link of a contract that was seen, at the time of a purchase, just before it, after it, or at any time.
    private mutating func link() {
        guard let (transaction, app) = seenTransactions.randomElement(using: &generator) else { return }
        let offsets: [Int64] = [0, -1, 1, 1_000_000, Int64.random(in: -10_000_000_000_000...10_000_000_000_000, using: &generator)]
        var linkedAt = transaction.purchaseDate.millisecondsSince1970 * 1000 + (offsets.randomElement(using: &generator) ?? 0)
        // One hand may link several contracts at once.
        if case .linkOwner(let other) = commands.last, oneIn(3) { linkedAt = other.linkedAt }
        let link = OwnerLink(
            environment: app.environment,
            contract: transaction.originalTransactionID,
            user: users.randomElement(using: &generator) ?? "",
            linkedAt: linkedAt
        )
        let isTaken = commands.contains { command in
            guard case .linkOwner(let other) = command else { return false }
            return (other.environment, other.contract, other.linkedAt) == (link.environment, link.contract, linkedAt)
        }
        if !isTaken { commands.append(.linkOwner(link)) }
    }
}
