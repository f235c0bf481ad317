package import AppStore
package import AppStoreVerification
import FoundationEssentials
package import StoreSimulator

/// A simulated App Store and a verifier that trusts it, for tests that start with signed bytes.
package enum SignedScene {
    /// The signing date: an hour ago, because the worker compares dates with the database's clock.
    package static let now = Timestamp(millisecondsSince1970: Int64(Date().timeIntervalSince1970 - 3600) * 1000)
    package static let app = SimulatedApp(bundleID: "com.example.app", appAppleID: 42, environment: .production)
    package static let sandboxApp = SimulatedApp(bundleID: "com.example.app", appAppleID: 42, environment: .sandbox)

    private static let authority = Result { try TestAuthority.generate(AuthorityOptions(around: now)) }

    package static func trigger(_ kind: NotificationKind, app: SimulatedApp = app) -> NotificationTrigger {
        NotificationTrigger(kind, app: app, now: now, seed: 7)
    }

    package static func signer() throws -> NotificationSigner {
        NotificationSigner(authority: try authority.get())
    }

    /// Accepts ``app`` in Production and Sandbox.
    package static func verifier() throws -> Verifier {
        Verifier(
            policy: VerificationPolicy(
                apps: [App(bundleID: app.bundleID, appAppleID: app.appAppleID)],
                environments: [.production, .sandbox],
                roots: [try TrustedRoot(authority.get().root, environments: nil)]
            )
        )
    }

    /// Throws the rejection of an invalid JWS.
    package static func verify(_ jws: [UInt8]) throws -> VerifiedNotification {
        switch try verifier().verifyNotification(jws[...], receivedAt: now) {
        case .valid(let verified): return verified
        case .invalid(let rejection): throw rejection
        }
    }
}
