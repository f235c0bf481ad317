internal import AppStore

/// A payload type that is signed as a JWS.
protocol SignedContent: PayloadObject {
    static var kind: SignedPayloadKind { get }

    /// The app and environment of the payload; throws when its parts disagree.
    func subject() throws(Flaw) -> Subject
}

/// The app and environment that a payload or receipt names.
struct Subject {
    enum Kind {
        case notification, transaction, renewalInfo, appTransaction, receipt

        /// Transactions and renewal infos of before 2022 name none.
        var requiresEnvironment: Bool { self == .notification || self == .receipt }
    }

    let kind: Kind
    var environment: AppStoreEnvironment?
    var bundleID: String?
    var appAppleID: Int64?

    /// This subject, completed by that of the enclosing notification; throws when they disagree.
    func agreeing(with outer: Subject) throws(Flaw) -> Subject {
        Subject(
            kind: kind,
            environment: try Self.agreed([outer.environment, environment], otherwise: .environmentDisagreement),
            bundleID: try Self.agreed([outer.bundleID, bundleID], otherwise: .bundleDisagreement),
            appAppleID: appAppleID ?? outer.appAppleID
        )
    }

    /// The common value, ignoring nil; throws for different values.
    static func agreed<Value: Hashable>(_ values: [Value?], otherwise reason: VerificationReason) throws(Flaw) -> Value? {
        var agreed: Value?
        for case let value? in values {
            guard agreed == nil || agreed == value else { throw Flaw(reason) }
            agreed = value
        }
        return agreed
    }
}

extension ResponseBodyV2DecodedPayload: SignedContent {
    static var kind: SignedPayloadKind { .notification }

    func subject() throws(Flaw) -> Subject {
        let environments = [data?.environment, summary?.environment, appData?.environment, externalPurchaseToken?.environment]
        let bundleIDs = [data?.bundleId, summary?.bundleId, appData?.bundleId, externalPurchaseToken?.bundleId]
        return Subject(
            kind: .notification,
            environment: try Subject.agreed(environments, otherwise: .environmentDisagreement),
            bundleID: try Subject.agreed(bundleIDs, otherwise: .bundleDisagreement),
            appAppleID: data?.appAppleId ?? summary?.appAppleId ?? appData?.appAppleId ?? externalPurchaseToken?.appAppleId
        )
    }
}

extension JWSTransactionDecodedPayload: SignedContent {
    static var kind: SignedPayloadKind { .transaction }

    func subject() -> Subject { Subject(kind: .transaction, environment: environment, bundleID: bundleId) }
}

extension JWSRenewalInfoDecodedPayload: SignedContent {
    static var kind: SignedPayloadKind { .renewalInfo }

    func subject() -> Subject { Subject(kind: .renewalInfo, environment: environment) }
}

extension AppTransaction: SignedContent {
    static var kind: SignedPayloadKind { .appTransaction }

    func subject() -> Subject { Subject(kind: .appTransaction, environment: receiptType, bundleID: bundleId, appAppleID: appAppleId) }
}
