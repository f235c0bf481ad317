package import AppStore
package import FoundationEssentials

/// Everything known about a charge: a join, so that neither order nor repetition of facts changes it.
///
/// It has two halves: facts from JWS and facts from receipts. Constants come from the JWS half if there is one. Expiry, revocation and
/// upgrade come from the later half; on a tie, from the JWS half. A ``LastingMember`` that the newest JWS lacks comes from the newest one
/// that has it.
package struct TransactionRegister: Sendable {
    /// The JWS fact of the highest version, as a whole: a reversal must clear the earlier revocation.
    package private(set) var signed: TransactionFact?
    /// For each lasting member that the JWS fact lacks, the one of the highest version that has it.
    package private(set) var lasting: [LastingMember: TransactionFact] = [:]
    package private(set) var receipt: ReceiptHalf?
    /// The lowest date of any fact, in either half.
    package private(set) var firstSignedDate: Timestamp
    /// The appAccountToken of the oldest fact with one, in either half: the order that the charge may pay. A later token does not pay a
    /// second order.
    package private(set) var firstToken: FirstToken?

    /// An appAccountToken and the version of the fact that first had it.
    package struct FirstToken: Hashable, Sendable {
        package let token: UUID
        package let version: Version

        fileprivate init?(_ token: UUID?, version: Version) {
            guard let order = OrderNumber.named(by: token) else { return nil }
            self.token = order
            self.version = version
        }
    }

    package init(_ fact: TransactionFact) {
        signed = fact
        firstSignedDate = fact.version.signedDate
        firstToken = FirstToken(fact.payload.appAccountToken, version: fact.version)
    }

    package init(_ fact: ReceiptFact) {
        receipt = ReceiptHalf(fact)
        firstSignedDate = fact.version.signedDate
        firstToken = FirstToken(fact.content.appAccountToken, version: fact.version)
    }

    /// Adds the facts of another register of the same charge.
    package mutating func join(_ other: TransactionRegister) {
        if let fact = other.signed { join(fact, other.lasting) }
        if let half = other.receipt {
            if receipt == nil { receipt = half } else { receipt?.join(half) }
        }
        firstSignedDate = min(firstSignedDate, other.firstSignedDate)
        switch (firstToken, other.firstToken) {
        case (let own?, let token?) where token.version < own.version: firstToken = token
        case (nil, let token): firstToken = token
        default: break
        }
    }

    private mutating func join(_ fact: TransactionFact, _ others: [LastingMember: TransactionFact]) {
        guard let own = signed else {
            (signed, lasting) = (fact, others)
            return
        }
        let (older, newest) = own.version < fact.version ? (own, fact) : (fact, own)
        let known = lasting
        (signed, lasting) = (newest, [:])
        for member in LastingMember.allCases where !member.isIn(newest.payload) {
            let facts = [known[member], others[member], member.isIn(older.payload) ? older : nil].compactMap(\.self)
            lasting[member] = facts.max { $0.version < $1.version }
        }
    }

    /// The type that a JWS has, else one that a receipt has.
    package var productType: ProductType? { signedType ?? receipt?.productType }

    /// The type that a JWS has.
    var signedType: ProductType? { signed?.payload.type ?? lasting[.productType]?.payload.type }

    /// Whether it is a period of an auto-renewable subscription: the type says so or, as long as no type is known, other members.
    package var isSubscription: Bool {
        productType?.isSubscription ?? signed?.isSubscription ?? receipt?.isSubscription ?? false
    }

    /// The number of the purchase, by the type that is known; like all constants from the JWS half if there is one.
    package var periodNumber: UUID? {
        let charge: (any Charge)? = signed ?? receipt?.latest
        return charge?.periodNumber(isSubscription: isSubscription, isConsumable: productType == .consumable)
    }

    /// Whether expiry, revocation and upgrade come from the receipt half; else they come from the JWS half.
    package var isStatedByReceipt: Bool {
        guard let receipt else { return false }
        return signed.map { $0.version.signedDate < receipt.latest.version.signedDate } ?? true
    }
}
