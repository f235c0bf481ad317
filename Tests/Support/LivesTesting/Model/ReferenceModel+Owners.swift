import AppStore

/// Evidence that a user owns a contract from an instant on.
struct Claim {
    let contract: Key
    let user: String
    /// Microseconds since 1970.
    let effectiveAt: Int64
    let evidence: String

    /// The same of the contract to which this one has migrated.
    func inherited(by contract: Key) -> Claim {
        let parts = evidence.split(separator: ":", maxSplits: 1)
        return Claim(
            contract: contract,
            user: user,
            effectiveAt: effectiveAt,
            evidence: "\(parts[0]):+\(self.contract.id)>\(parts[1])"
        )
    }

    /// Compares by date, then by the bytes of the evidence.
    static func isWeaker(_ left: Claim, _ right: Claim) -> Bool {
        left.effectiveAt != right.effectiveAt
            ? left.effectiveAt < right.effectiveAt : left.evidence.utf8.lexicographicallyPrecedes(right.evidence.utf8)
    }
}

/// The owners of contracts.
extension ReferenceModel {
    /// Three days: the time after a purchase in which a post claims it.
    private static let postingWindow: Int64 = 72 * 3_600_000

    func makeClaims(_ orders: Orders) -> [Key: [Claim]] {
        let all = orderClaims(orders) + tokenClaims() + links.compactMap(claim) + charges.compactMap(receiptClaim)
        let stated = Dictionary(grouping: all, by: \.contract)
        var claims: [Key: [Claim]] = [:]
        for contract in linked.union(charges.map(\.key)).union(migrations.keys) {
            // The users of the contracts before a migration owned what has become this contract.
            let before = contracts(before: contract).sorted { $0.id > $1.id }
            func withInherited<T>(_ make: (Key) -> [T], _ rename: (T) -> T) -> [T] { make(contract) + before.flatMap(make).map(rename) }
            let known = withInherited({ stated[$0] ?? [] }) { $0.inherited(by: contract) }
            let posted = withInherited({ postClaims(to: $0, against: known) + restoredClaims(to: $0, against: known) }) {
                PostedClaim(claim: $0.claim.inherited(by: contract), receivedAt: $0.receivedAt, eventID: $0.eventID)
            }
            // Of the posts without stronger earlier evidence, the one received first counts; in one receipt that of the contract itself.
            let first = posted.min { ($0.receivedAt, $0.eventID) < ($1.receivedAt, $1.eventID) }
            let found = known + (first.map { [$0.claim] } ?? [])
            if !found.isEmpty { claims[contract] = found }
        }
        return claims
    }

    private func contracts(before contract: Key) -> Set<Key> {
        var found = migrations[contract] ?? []
        for before in found { found.formUnion(contracts(before: before)) }
        return found
    }

    /// The contracts from which each has migrated to the Advanced Commerce API. The lives have no circles.
    var migrations: [Key: Set<Key>] {
        var found: [Key: Set<Key>] = [:]
        for charge in charges {
            guard let previous = charge.lasting("previousOriginalTransactionId"), previous != charge.key.id else { continue }
            found[charge.key, default: []].insert(Key(charge.environment, previous))
        }
        return found
    }

    /// The user of a paid order owns the contract that paid it.
    private func orderClaims(_ orders: Orders) -> [Claim] {
        orders.payers.compactMap { order, payer in
            guard let user = shopOrders[order.id]?.user else { return nil }
            return Claim(contract: payer.key, user: user, effectiveAt: payer.purchaseDate * 1000, evidence: "order:\(order.id)")
        }
    }

    /// Whether another transaction represents the charge's purchase: a copy moves no product to another user.
    private func isCopy(_ charge: Charge) -> Bool {
        if charge.isCopyOfProduct { return true }
        let others = charges.filter { $0.isPurchased && $0.environment == charge.environment && $0.period == charge.period }
        return charge.isPurchased && others.contains { Charge.hasLowerNumber($0, charge) }
    }

    /// A later token of a charge pays no order, but the user of its order owns the contract.
    private func tokenClaims() -> [Claim] {
        charges.compactMap { charge in
            guard charge.isPurchased, !isCopy(charge), let token = charge.token, token != charge.firstToken else { return nil }
            guard let user = shopOrders[token]?.user else { return nil }
            return Claim(contract: charge.key, user: user, effectiveAt: charge.purchaseDate * 1000, evidence: "token:\(charge.id)")
        }
    }

    /// Nil for a link that was taken back, and for the command that does so.
    private func claim(of link: OwnerLink) -> Claim? {
        let isTakenBack = links.contains { other in
            (other.environment, other.contract, other.user) == (link.environment, link.contract, nil) && other.linkedAt >= link.linkedAt
        }
        guard let user = link.user, !isTakenBack else { return nil }
        let digits = String(link.linkedAt)
        return Claim(
            contract: Key(link.environment.rawValue, link.contract),
            user: user,
            effectiveAt: link.linkedAt,
            evidence: "link:" + String(repeating: "0", count: 20 - digits.count) + digits
        )
    }

    /// The first user whose app named the purchase within the window owns the contract from then on. A renewal proves nothing: its JWS
    /// says so,
    /// or it begins in the second in which another period ends.
    private func receiptClaim(on charge: Charge) -> Claim? {
        let posts = receiptPosts.filter { post in
            post.contract == charge.key && post.named == charge.id && post.receivedAt <= charge.purchaseDate + Self.postingWindow
        }
        guard let first = posts.min(by: PostedContract.isEarlier), charge.firstToken == nil, !isCopy(charge),
            charge.lasting("transactionReason") != "RENEWAL"
        else { return nil }
        let isRenewal = charges.contains { other in
            other.key == charge.key && other.id != charge.id && other.expiresDate.map { $0 / 1000 == charge.purchaseDate / 1000 } ?? false
        }
        guard !isRenewal else { return nil }
        return Claim(contract: charge.key, user: first.user, effectiveAt: charge.purchaseDate * 1000, evidence: "receipt:\(charge.id)")
    }

    /// A claim that yields to stronger evidence.
    private struct PostedClaim {
        let claim: Claim
        let receivedAt: Int64
        let eventID: Int64
    }

    /// The user who posted a purchase may own it: within the window from the purchase on, later from the post on, unless something stated
    /// is older. A family member's charge is claimed within the window only.
    private func postClaims(to contract: Key, against stated: [Claim]) -> [PostedClaim] {
        posts.compactMap { post in
            guard post.contract == contract, let charge = charges.first(where: { $0.key == post.contract && $0.id == post.charge.id }),
                case let isInTime = post.receivedAt <= charge.purchaseDate + Self.postingWindow, isInTime || charge.isPurchased,
                case let effectiveAt = (isInTime ? charge.purchaseDate : post.receivedAt) * 1000,
                !stated.contains(where: { $0.effectiveAt <= effectiveAt })
            else { return nil }
            let evidence = isInTime ? "client:\(charge.id)" : "restored:\(post.contract.id)"
            let claim = Claim(contract: post.contract, user: post.user, effectiveAt: effectiveAt, evidence: evidence)
            return PostedClaim(claim: claim, receivedAt: post.receivedAt, eventID: post.eventID)
        }
    }

    /// The user whose app posted a receipt with the contract may own it from then on, unless stronger evidence is older.
    private func restoredClaims(to contract: Key, against stated: [Claim]) -> [PostedClaim] {
        receiptPosts.compactMap { post in
            let effectiveAt = post.receivedAt * 1000
            guard post.contract == contract, !stated.contains(where: { $0.effectiveAt <= effectiveAt }) else { return nil }
            let evidence = "restored:\(post.contract.id)"
            let claim = Claim(contract: post.contract, user: post.user, effectiveAt: effectiveAt, evidence: evidence)
            return PostedClaim(claim: claim, receivedAt: post.receivedAt, eventID: post.eventID)
        }
    }

    /// The contract's owner: the user of the newest claim.
    func owner(_ claims: [Claim]) -> String? { claims.max(by: Claim.isWeaker)?.user }

    /// The user of a period without token: the owner at its purchase, else the first owner.
    func user(_ claims: [Claim], at purchaseDate: Int64) -> String? {
        let then = claims.filter { $0.effectiveAt <= purchaseDate * 1000 }
        return (then.max(by: Claim.isWeaker) ?? claims.min(by: Claim.isWeaker))?.user
    }
}
