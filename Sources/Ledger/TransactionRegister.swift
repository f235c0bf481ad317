package import AppStore
package import FoundationEssentials

/// What is known of a charge: a join, so that neither order nor repetition of facts changes it.
///
/// It has two halves, of facts from JWS and of facts from receipts. Constants are those of the JWS half where there is one. Of expiry,
/// revocation and upgrade the later half's count, the JWS half's on a tie.
package struct TransactionRegister: Sendable {
    /// The JWS fact of the highest version, as a whole: a reversal must clear the revocation before it.
    package private(set) var signed: TransactionFact?
    package private(set) var receipt: ReceiptHalf?
    /// The lowest date of any statement about it, in either half.
    package private(set) var firstSignedDate: Timestamp
    /// The appAccountToken of the oldest fact that had one, in either half: the order that it may pay. A token that comes later is no second
    /// payment.
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

    /// Takes in what another register of the same charge knows.
    package mutating func join(_ other: TransactionRegister) {
        if let theirs = other.signed, signed.map({ $0.version < theirs.version }) ?? true { signed = theirs }
        if let theirs = other.receipt {
            if receipt == nil { receipt = theirs } else { receipt?.join(theirs) }
        }
        firstSignedDate = min(firstSignedDate, other.firstSignedDate)
        switch (firstToken, other.firstToken) {
        case (let mine?, let theirs?) where theirs.version < mine.version: firstToken = theirs
        case (nil, let theirs): firstToken = theirs
        default: break
        }
    }

    /// Whether the receipt half says what expiry, revocation and upgrade are; else the JWS half does.
    package var isStatedByReceipt: Bool {
        guard let receipt else { return false }
        return signed.map { $0.version.signedDate < receipt.latest.version.signedDate } ?? true
    }
}
