package import AppStore
internal import StrictJSON

/// The result of verifying a JWS or receipt: a value, never a thrown error.
package enum Verdict<Value: Sendable>: Sendable {
    /// Genuine, with a configured app and environment.
    case valid(Value)
    case invalid(Rejection)

    init(_ verify: () throws(Rejection) -> Value) {
        do {
            self = .valid(try verify())
        } catch {
            self = .invalid(error)
        }
    }
}

/// Why a JWS or receipt is refused, and which part failed.
package struct Rejection: Error, Hashable, Sendable, CustomStringConvertible {
    /// The first check that failed.
    package let reason: VerificationReason
    /// The JWS that failed, `signedPayload` for the outermost one, otherwise its member, `data.signedTransactionInfo`; or `receipt`.
    package let location: String
    /// Details for an operator, such as `x5c[1]`, `transaction.environment` or a byte offset; never a value from the content.
    package let detail: String?
    /// The refused content if the signature of the outermost part is genuine, so that an operator can see its app.
    package let genuine: GenuineContent?
    /// Whether it is genuine and this version cannot read what it needs: a later version may.
    package let isUnreadable: Bool

    /// Whether the same bytes may be valid later: only for a signing date in the future.
    package var isRetryable: Bool { reason == .signedInTheFuture }

    package var description: String {
        "\(location): \(reason)\(detail.map { " (\($0))" } ?? "")"
    }

    /// The member that is needed and cannot be read, as `transaction.environment`; nil when the reason is another one.
    package var unreadableMember: String? { reason == .unreadableMember ? detail : nil }

    /// The refused notification, if its own signature is genuine.
    package var notification: ResponseBodyV2DecodedPayload? {
        if case .notification(let notification)? = genuine { notification } else { nil }
    }

    /// The refused receipt, if its signature is genuine and it can be read.
    package var receipt: AppReceipt? {
        if case .receipt(let receipt)? = genuine { receipt } else { nil }
    }

    init(_ flaw: Flaw, at location: String, in genuine: GenuineContent? = nil) {
        reason = flaw.reason
        detail = flaw.detail
        isUnreadable = flaw.isUnreadable
        self.location = location
        self.genuine = genuine ?? flaw.genuine
    }
}

/// Content with a valid signature.
package enum GenuineContent: Hashable, Sendable {
    case notification(ResponseBodyV2DecodedPayload)
    case transaction(JWSTransactionDecodedPayload)
    case renewalInfo(JWSRenewalInfoDecodedPayload)
    case appTransaction(AppTransaction)
    case receipt(AppReceipt)
    /// What it is cannot be read.
    case other

    /// - Parameter kind: nil when the members determine none.
    init(_ object: JSONObject, _ kind: SignedPayloadKind?) {
        self =
            switch kind {
            case .notification: .notification(ResponseBodyV2DecodedPayload(decoding: object))
            case .transaction: .transaction(JWSTransactionDecodedPayload(decoding: object))
            case .renewalInfo: .renewalInfo(JWSRenewalInfoDecodedPayload(decoding: object))
            case .appTransaction: .appTransaction(AppTransaction(decoding: object))
            case nil: .other
            }
    }

    /// The places of the members that cannot be read.
    package var odd: [String] {
        switch self {
        case .notification(let payload): payload.oddMembers
        case .transaction(let payload): payload.oddMembers
        case .renewalInfo(let payload): payload.oddMembers
        case .appTransaction(let payload): payload.oddMembers
        case .receipt, .other: []
        }
    }
}

/// Why one JWS or receipt is refused, without its location.
struct Flaw: Error {
    var reason: VerificationReason
    var detail: String?
    /// Whether the signature is valid and what is needed cannot be read.
    var isUnreadable = false
    /// What was refused, when its signature is valid.
    var genuine: GenuineContent?

    init(_ reason: VerificationReason, _ detail: String? = nil) {
        self.reason = reason
        self.detail = detail
    }

    /// A member of genuine content is needed and cannot be read.
    static func unreadable(_ member: String) -> Flaw {
        var flaw = Flaw(.unreadableMember, member)
        flaw.isUnreadable = true
        return flaw
    }
}
