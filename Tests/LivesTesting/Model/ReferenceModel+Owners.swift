import AppStore

/// Something that says whose a contract is, from when on.
struct Claim {
    let contract: Key
    let user: String
    /// Microseconds since 1970.
    let effectiveAt: Int64
    let evidence: String

    /// Evidence is compared by its bytes.
    static func isWeaker(_ left: Claim, _ right: Claim) -> Bool {
        left.effectiveAt != right.effectiveAt
            ? left.effectiveAt < right.effectiveAt : left.evidence.utf8.lexicographicallyPrecedes(right.evidence.utf8)
    }
}

/// Whose a contract is.
extension ReferenceModel {
    /// Three days: how long after a purchase a client may claim it by posting it.
    private static let postingWindow: Int64 = 72 * 3_600_000

    func makeClaims(_ orders: Orders) -> [Key: [Claim]] {
        let strong = Dictionary(grouping: orderClaims(orders) + tokenClaims() + links.map(claim), by: \.contract)
        var claims = strong
        for (contract, posts) in Dictionary(grouping: posts, by: \.contract) {
            if let claim = postClaim(posts, against: strong[contract] ?? []) { claims[contract, default: []].append(claim) }
        }
        return claims
    }

    /// The user that the shop named with a paid order owns what paid it.
    private func orderClaims(_ orders: Orders) -> [Claim] {
        orders.payers.compactMap { order, payer in
            guard let user = shopOrders[order.id]?.user, let trade = orders.trade(of: payer.period) else { return nil }
            return Claim(contract: payer.key, user: user, effectiveAt: trade.purchaseDate * 1000, evidence: "order:\(order.id)")
        }
    }

    /// A token that came later than the first pays nothing, but the user of its order owns what it is on.
    private func tokenClaims() -> [Claim] {
        charges.compactMap { charge in
            guard charge.isPurchased, let token = charge.token, token != charge.firstToken else { return nil }
            guard let user = shopOrders[token]?.user else { return nil }
            return Claim(contract: charge.key, user: user, effectiveAt: charge.purchaseDate * 1000, evidence: "token:\(charge.id)")
        }
    }

    private func claim(of link: OwnerLink) -> Claim {
        let digits = String(link.linkedAt)
        return Claim(
            contract: Key(link.environment.rawValue, link.contract),
            user: link.user,
            effectiveAt: link.linkedAt,
            evidence: "link:" + String(repeating: "0", count: 20 - digits.count) + digits
        )
    }

    /// Who posted a purchase without token first and soon enough owns it, unless something stronger had said by then whose it is.
    private func postClaim(_ posts: [Post], against strong: [Claim]) -> Claim? {
        for post in posts.sorted(by: Post.isEarlier) {
            guard let charge = charges.first(where: { $0.environment == post.charge.environment && $0.id == post.charge.id }) else {
                continue
            }
            guard charge.firstToken == nil, post.receivedAt <= charge.purchaseDate + Self.postingWindow else { continue }
            guard !strong.contains(where: { $0.effectiveAt <= charge.purchaseDate * 1000 }) else { continue }
            return Claim(
                contract: post.contract,
                user: post.user,
                effectiveAt: charge.purchaseDate * 1000,
                evidence: "client:\(charge.id)"
            )
        }
        return nil
    }

    /// The contract's owner: of the newest claim.
    func owner(_ claims: [Claim]) -> String? { claims.max(by: Claim.isWeaker)?.user }

    /// The user of a period that no token pays: the owner of that time, else the first there was.
    func user(_ claims: [Claim], at purchaseDate: Int64) -> String? {
        let then = claims.filter { $0.effectiveAt <= purchaseDate * 1000 }
        return (then.max(by: Claim.isWeaker) ?? claims.min(by: Claim.isWeaker))?.user
    }
}
