package import AppStore
package import FoundationEssentials

/// Everything known about a charge: a join, so that neither order nor repetition of facts changes it.
///
/// It has two halves: facts from JWS and facts from receipts. Constants come from the JWS half if there is one. Expiry, revocation and
/// upgrade come from the later half; on a tie, from the JWS half.
package struct TransactionRegister: Sendable {
    /// The JWS fact of the highest version, as a whole: a reversal must clear the earlier revocation.
    package private(set) var signed: TransactionFact?
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
        if let fact = other.signed, signed.map({ $0.version < fact.version }) ?? true { signed = fact }
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

    /// Whether expiry, revocation and upgrade come from the receipt half; else they come from the JWS half.
    package var isStatedByReceipt: Bool {
        guard let receipt else { return false }
        return signed.map { $0.version.signedDate < receipt.latest.version.signedDate } ?? true
    }
}
