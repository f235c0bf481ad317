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

    /// The values that this version does not know, each at its place in an event.
    var unknownValues: [UnknownValue] { unknown.map { UnknownValue(path: Self.kind.place(of: $0.path), value: $0.value) } }

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

    /// Apple does not say where such a notification names its app and environment, so one in which this version finds them nowhere is kept
    /// for a later version instead of being rejected.
    fileprivate mutating func countMissingAsUnreadable(in member: String) {
        if environment == nil { unreadable.environment = unreadable.environment ?? member }
        if bundleID == nil { unreadable.bundleID = unreadable.bundleID ?? member }
        if appAppleID == nil { unreadable.appAppleID = unreadable.appAppleID ?? member }
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
        let environments = [
            data?.environment, summary?.environment, appData?.environment, externalPurchaseToken?.environment, unclaimInfo?.environment,
        ]
        let bundleIDs = [data?.bundleId, summary?.bundleId, appData?.bundleId, externalPurchaseToken?.bundleId, unclaimInfo?.bundleId]
        let appAppleIDs = [
            data?.appAppleId, summary?.appAppleId, appData?.appAppleId, externalPurchaseToken?.appAppleId, unclaimInfo?.appAppleId,
        ]
        var subject = Subject(
            kind: .notification,
            environment: try Subject.agreed(environments, otherwise: .environmentDisagreement),
            bundleID: try Subject.agreed(bundleIDs, otherwise: .bundleDisagreement),
            appAppleID: appAppleIDs.lazy.compactMap(\.self).first
        )
        if !odd.isEmpty {
            subject.unreadable = Subject.Unreadable(
                // The token's identifier says the environment.
                environment: unreadable(["environment", "externalPurchaseId"]) ?? unreadablePart(unless: subject.environment != nil),
                bundleID: unreadable(["bundleId"]) ?? unreadablePart(unless: subject.bundleID != nil),
                appAppleID: unreadable(["appAppleId"])
            )
        }
        if notificationType == .unclaimSeats || unclaimInfo != nil { subject.countMissingAsUnreadable(in: Member.unclaimInfo.rawValue) }
        return subject
    }

    /// The object that may have a member that no readable one has.
    private func unreadablePart(unless isKnown: Bool) -> String? {
        isKnown ? nil : odd.first(at: ["data", "summary", "appData", "externalPurchaseToken", "unclaimInfo"])
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
