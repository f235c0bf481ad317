import AppStore
import StrictJSON
import Testing

@testable import AppStoreVerification

/// A JWS that is invalid for one reason, and the policy to verify it with.
struct ReasonCase: Sendable, CustomTestStringConvertible {
    struct Attempt {
        var jws: String
        var policy: VerificationPolicy
        var receivedAt = TestStore.now
    }

    let reason: VerificationReason
    var what = ""
    var location = "signedPayload"
    let attempt: @Sendable (TestStore) throws -> Attempt

    var testDescription: String { what.isEmpty ? reason.rawValue : "\(reason): \(what)" }

    /// A notification whose JWS is made by `sign`, with a genuine store.
    static func form(_ reason: VerificationReason, _ what: String = "", sign: @escaping @Sendable (TestStore) throws -> String) -> Self {
        Self(reason: reason, what: what) { Attempt(jws: try sign($0), policy: try $0.policy()) }
    }

    /// A genuine notification, signed below changed certificates.
    static func chain(
        _ reason: VerificationReason,
        _ what: String = "",
        _ change: @escaping @Sendable (inout TestStore.Options) throws -> Void
    ) -> Self {
        Self(reason: reason, what: what) { _ in
            let store = try TestStore(change)
            return Attempt(jws: try store.sign(Payloads.notification()), policy: try store.policy())
        }
    }

    /// A changed payload, signed by a genuine store.
    static func content(
        _ reason: VerificationReason,
        _ what: String = "",
        at location: String = "signedPayload",
        trustedFor environments: Set<AppStoreEnvironment>? = nil,
        payload: @escaping @Sendable (TestStore) throws -> JSONObject
    ) -> Self {
        Self(reason: reason, what: what, location: location) {
            Attempt(jws: try $0.sign(try payload($0)), policy: try $0.policy(trustedFor: environments))
        }
    }
}
