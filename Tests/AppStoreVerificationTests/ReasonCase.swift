import AppStore
import Testing

@testable import AppStoreVerification

/// A JWS that is wrong in one way, and everything needed to find that out.
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

    /// A notification whose JWS is put together by `sign`, with a genuine store.
    static func form(_ reason: VerificationReason, _ what: String = "", sign: @escaping @Sendable (TestStore) throws -> String) -> Self {
        Self(reason: reason, what: what) { Attempt(jws: try sign($0), policy: try $0.policy()) }
    }

    /// A genuine notification below certificates of a changed recipe.
    static func chain(
        _ reason: VerificationReason,
        _ what: String = "",
        _ change: @escaping @Sendable (inout TestStore.Recipe) throws -> Void
    ) -> Self {
        Self(reason: reason, what: what) { _ in
            let store = try TestStore(change)
            return Attempt(jws: try store.sign(Payloads.notification()), policy: try store.policy())
        }
    }

    /// A genuine payload of a genuine store.
    static func content(
        _ reason: VerificationReason,
        _ what: String = "",
        at location: String = "signedPayload",
        vouchingFor environments: Set<AppStoreEnvironment>? = nil,
        payload: @escaping @Sendable (TestStore) throws -> JSONObject
    ) -> Self {
        Self(reason: reason, what: what, location: location) {
            Attempt(jws: try $0.sign(try payload($0)), policy: try $0.policy(vouchingFor: environments))
        }
    }
}
