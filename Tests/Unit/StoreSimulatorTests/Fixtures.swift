import AppStore
import AppStoreVerification
import StoreSimulator
import StrictJSON

extension Timestamp {
    /// 2026-03-31T08:00:00.250Z: some months have no 31st.
    static let testNow = Timestamp(millisecondsSince1970: 1_774_944_000_250)

    func advanced(byDays days: Int64) -> Timestamp { advanced(by: .seconds(days * 86_400)) }
}

extension SimulatedApp {
    static let test = SimulatedApp(bundleID: "com.example.app", appAppleID: 1_234_567_890)
    static let testSandbox = SimulatedApp(bundleID: "com.example.app", appAppleID: 1_234_567_890, environment: .sandbox)
}

extension SimulatedStore {
    static func test(_ app: SimulatedApp = .test, seed: UInt64 = 1, now: Timestamp = .testNow) -> SimulatedStore {
        SimulatedStore(app: app, seed: seed, now: now)
    }
}

/// One long-lived authority for all tests that need a genuine one: creating keys takes longer than most tests.
enum Genuine {
    static let authority = Result { try TestAuthority.generate(.longLived(around: .testNow)) }

    static var signer: NotificationSigner { get throws { NotificationSigner(authority: try authority.get()) } }

    /// Trusts the authority for the test app only.
    static var verifier: Verifier { get throws { try verifier(trusting: try authority.get()) } }

    static func verifier(trusting authority: TestAuthority) throws -> Verifier {
        Verifier(
            policy: VerificationPolicy(
                apps: [App(bundleID: SimulatedApp.test.bundleID, appAppleID: SimulatedApp.test.appAppleID)],
                environments: nil,
                roots: [try TrustedRoot(authority.root, environments: nil)]
            )
        )
    }
}

extension Verdict {
    var accepted: Value? {
        guard case .valid(let value) = self else { return nil }
        return value
    }

    var reason: VerificationReason? {
        guard case .invalid(let rejection) = self else { return nil }
        return rejection.reason
    }

    var location: String? {
        guard case .invalid(let rejection) = self else { return nil }
        return rejection.location
    }
}

extension CompactJWS {
    /// The payload's members.
    var object: JSONObject { get throws { try JSONParser().parseObject(payload) } }
}

extension SimulatedStore {
    /// A customer of a copy of this store.
    func customer() -> CustomerLife {
        var store = self
        return store.makeCustomer()
    }
}
