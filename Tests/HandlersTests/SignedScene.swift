import AppStore
import AppStoreVerification
import Handlers
import Ledger
import StoreSimulator
import Testing

/// Notifications that the simulator signs and the verifier accepts, as the worker sees them.
enum SignedScene {
    static let now = Timestamp(millisecondsSince1970: 1_790_000_000_000)
    static let app = SimulatedApp(bundleID: "com.example.app", appAppleID: 42, environment: .production)

    private static let authority = Result { try TestAuthority.generate(AuthorityOptions(around: now)) }

    static func trigger(_ kind: NotificationKind) -> NotificationTrigger {
        NotificationTrigger(kind, app: app, now: now, seed: 7)
    }

    /// Signs, verifies and interprets it as event 1.
    static func facts(of notification: SimulatedNotification) throws -> EventFacts {
        let authority = try authority.get()
        let policy = VerificationPolicy(
            apps: [App(bundleID: app.bundleID, appAppleID: app.appAppleID)],
            environments: [.production],
            roots: [try TrustedRoot(authority.root, environments: nil)]
        )
        let signed = try NotificationSigner(authority: authority).sign(notification)
        switch Verifier(policy: policy).verifyNotification(signed.jws[...], receivedAt: now) {
        case .valid(let verified): return NotificationInterpreter.facts(of: verified, eventID: 1)
        case .invalid(let rejection): throw rejection
        }
    }
}
