internal import AppStore

/// A payload type that is signed as a JWS.
protocol SignedContent: PayloadObject {
    static var kind: SignedPayloadKind { get }

    /// The app and environment of the payload; throws when its parts disagree.
    func subject() throws(Flaw) -> Subject

    /// The payload as part of a rejection.
    var genuine: GenuineContent { get }
}

extension SignedContent {
    /// The members that cannot be read, each kind once: `data.bundleVersion`, `transaction.price`.
    var oddMembers: [String] { odd.map { Self.kind.place(of: $0.kind) } }

    /// The place of the first of these members that was given and cannot be read.
    func unreadable(_ members: Set<String>) -> String? { odd.first(named: members).map { Self.kind.place(of: $0) } }
}

extension SignedPayloadKind {
    /// A member's path in an event, where members of the notification itself have no prefix.
    func place(of path: String) -> String {
        switch self {
        case .notification: path
        case .transaction: "transaction.\(path)"
        case .renewalInfo: "renewalInfo.\(path)"
        case .appTransaction: "appTransaction.\(path)"
        }
    }
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
    /// What cannot be read of them. It never counts as absent.
    var unreadable = Unreadable()

    /// Paths of members that were given and cannot be read.
    struct Unreadable {
        var environment: String?
        var bundleID: String?
        var appAppleID: String?
    }

    /// This subject, completed by that of the enclosing notification; throws when they disagree.
    func agreeing(with outer: Subject) throws(Flaw) -> Subject {
        Subject(
            kind: kind,
            environment: try Self.agreed([outer.environment, environment], otherwise: .environmentDisagreement),
            bundleID: try Self.agreed([outer.bundleID, bundleID], otherwise: .bundleDisagreement),
            appAppleID: appAppleID ?? outer.appAppleID,
            unreadable: unreadable
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
            appAppleID: data?.appAppleId ?? summary?.appAppleId ?? appData?.appAppleId ?? externalPurchaseToken?.appAppleId,
            unreadable: odd.isEmpty
                ? Subject.Unreadable()
                : Subject.Unreadable(
                    // The token's identifier says the environment.
                    environment: unreadable(["environment", "externalPurchaseId"])
                        ?? unreadablePart(unless: environments.contains { $0 != nil }),
                    bundleID: unreadable(["bundleId"]) ?? unreadablePart(unless: bundleIDs.contains { $0 != nil }),
                    appAppleID: unreadable(["appAppleId"])
                )
        )
    }

    /// The object that may have a member that no readable one has.
    private func unreadablePart(unless isKnown: Bool) -> String? {
        isKnown ? nil : odd.first(at: ["data", "summary", "appData", "externalPurchaseToken"])
    }

    var genuine: GenuineContent { .notification(self) }
}

extension JWSTransactionDecodedPayload: SignedContent {
    static var kind: SignedPayloadKind { .transaction }

    func subject() -> Subject {
        Subject(
            kind: .transaction,
            environment: environment,
            bundleID: bundleId,
            unreadable: odd.isEmpty
                ? Subject.Unreadable() : Subject.Unreadable(environment: unreadable(["environment"]), bundleID: unreadable(["bundleId"]))
        )
    }

    var genuine: GenuineContent { .transaction(self) }
}

extension JWSRenewalInfoDecodedPayload: SignedContent {
    static var kind: SignedPayloadKind { .renewalInfo }

    func subject() -> Subject {
        Subject(
            kind: .renewalInfo,
            environment: environment,
            unreadable: odd.isEmpty ? Subject.Unreadable() : Subject.Unreadable(environment: unreadable(["environment"]))
        )
    }

    var genuine: GenuineContent { .renewalInfo(self) }
}

extension AppTransaction: SignedContent {
    static var kind: SignedPayloadKind { .appTransaction }

    func subject() -> Subject {
        Subject(
            kind: .appTransaction,
            environment: receiptType,
            bundleID: bundleId,
            appAppleID: appAppleId,
            unreadable: odd.isEmpty
                ? Subject.Unreadable()
                : Subject.Unreadable(
                    environment: unreadable(["receiptType"]),
                    bundleID: unreadable(["bundleId"]),
                    appAppleID: unreadable(["appAppleId"])
                )
        )
    }

    var genuine: GenuineContent { .appTransaction(self) }
}
