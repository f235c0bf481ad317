package import AppStore
package import FoundationEssentials

/// What is known of a charge: a join, so that neither order nor repetition of facts changes it.
package struct TransactionRegister: Sendable {
    /// The fact of the highest version, as a whole: a reversal must clear the revocation before it.
    package private(set) var latest: TransactionFact
    /// The lowest signed date ever seen for it.
    package private(set) var firstSignedDate: Timestamp
    /// The appAccountToken of the oldest fact that had one: the order that it may pay. A token that comes later is no second payment.
    package private(set) var firstToken: FirstToken?

    /// An appAccountToken and the version of the fact that first had it.
    package struct FirstToken: Hashable, Sendable {
        package let token: UUID
        package let version: Version
    }

    package init(_ fact: TransactionFact) {
        latest = fact
        firstSignedDate = fact.version.signedDate
        firstToken = fact.payload.appAccountToken.map { FirstToken(token: $0, version: fact.version) }
    }

    /// Takes in what another register of the same charge knows.
    package mutating func join(_ other: TransactionRegister) {
        if latest.version < other.latest.version { latest = other.latest }
        firstSignedDate = min(firstSignedDate, other.firstSignedDate)
        switch (firstToken, other.firstToken) {
        case (let mine?, let theirs?) where theirs.version < mine.version: firstToken = theirs
        case (nil, let theirs): firstToken = theirs
        default: break
        }
    }
}
