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
        let stated = orderClaims(orders) + tokenClaims() + links.map(claim) + charges.compactMap(receiptClaim)
        var claims = Dictionary(grouping: stated, by: \.contract)
        let posted = postClaims(against: claims) + restoredClaims(against: claims)
        for (contract, posted) in Dictionary(grouping: posted, by: \.claim.contract) {
            // Of all posts that nothing stronger stands against the one received first.
            let first = posted.min { ($0.receivedAt, $0.eventID) < ($1.receivedAt, $1.eventID) }
            if let first { claims[contract, default: []].append(first.claim) }
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

    /// Whose app named a purchase first as just made, and soon enough, owns what it is on from then on; not a renewal, which was made in
    /// nobody's app: the JWS says that it was none, or it begins with the second in which another period ends.
    private func receiptClaim(on charge: Charge) -> Claim? {
        let posts = receiptPosts.filter { post in
            post.contract == charge.key && post.named == charge.id && post.receivedAt <= charge.purchaseDate + Self.postingWindow
        }
        guard let first = posts.min(by: PostedContract.isEarlier), charge.firstToken == nil,
            charge.constant.text("transactionReason") != "RENEWAL"
        else { return nil }
        let isRenewal = charges.contains { other in
            other.key == charge.key && other.id != charge.id && other.expiresDate.map { $0 / 1000 == charge.purchaseDate / 1000 } ?? false
        }
        guard !isRenewal else { return nil }
        return Claim(contract: charge.key, user: first.user, effectiveAt: charge.purchaseDate * 1000, evidence: "receipt:\(charge.id)")
    }

    /// A claim that gives way to others.
    private struct PostedClaim {
        let claim: Claim
        let receivedAt: Int64
        let eventID: Int64
    }

    /// Who posted a purchase without token soon enough may own it, unless something stronger had said by then whose it is.
    private func postClaims(against stated: [Key: [Claim]]) -> [PostedClaim] {
        posts.compactMap { post in
            guard let charge = charges.first(where: { $0.environment == post.charge.environment && $0.id == post.charge.id }),
                charge.firstToken == nil, post.receivedAt <= charge.purchaseDate + Self.postingWindow,
                !(stated[post.contract] ?? []).contains(where: { $0.effectiveAt <= charge.purchaseDate * 1000 })
            else { return nil }
            let effectiveAt = charge.purchaseDate * 1000
            let claim = Claim(contract: post.contract, user: post.user, effectiveAt: effectiveAt, evidence: "client:\(charge.id)")
            return PostedClaim(claim: claim, receivedAt: post.receivedAt, eventID: post.eventID)
        }
    }

    /// Whose app posted any receipt with the contract in it may own it from then on, unless something stronger had said by then whose it
    /// is.
    private func restoredClaims(against stated: [Key: [Claim]]) -> [PostedClaim] {
        receiptPosts.compactMap { post in
            let effectiveAt = post.receivedAt * 1000
            guard !(stated[post.contract] ?? []).contains(where: { $0.effectiveAt <= effectiveAt }) else { return nil }
            let evidence = "restored:\(post.contract.id)"
            let claim = Claim(contract: post.contract, user: post.user, effectiveAt: effectiveAt, evidence: evidence)
            return PostedClaim(claim: claim, receivedAt: post.receivedAt, eventID: post.eventID)
        }
    }

    /// The contract's owner: of the newest claim.
    func owner(_ claims: [Claim]) -> String? { claims.max(by: Claim.isWeaker)?.user }

    /// The user of a period that no token pays: the owner of that time, else the first there was.
    func user(_ claims: [Claim], at purchaseDate: Int64) -> String? {
        let then = claims.filter { $0.effectiveAt <= purchaseDate * 1000 }
        return (then.max(by: Claim.isWeaker) ?? claims.min(by: Claim.isWeaker))?.user
    }
}
