import AppStore
import AppStoreVerification
import OpenSSL
import StoreSimulator

/// The authority that signs a benchmark's notifications, and the settings with which a worker trusts it.
struct BenchmarkStore: Sendable {
    let authority: TestAuthority
    let signer: NotificationSigner

    /// Creates an authority whose certificates are valid throughout the simulated lives.
    init() throws {
        let middle = Timestamp(millisecondsSince1970: 1_300_000_000_000)
        var options = AuthorityOptions(around: middle)
        let decades = AuthorityOptions.Validity.years(25, around: middle)
        (options.rootValidity, options.intermediateValidity, options.leafValidity) = (decades, decades, decades)
        authority = try TestAuthority.generate(options)
        signer = NotificationSigner(authority: authority)
    }

    /// Signs notifications on all processors. Returns the bodies of their POSTs.
    func bodies(of notifications: [SimulatedNotification]) async throws -> [[UInt8]] {
        let signer = signer
        return try await Parallel.map(notifications) { try signer.sign($0).body }
    }

    /// A verifier that trusts this store, for the benchmark's app.
    func verifier() throws -> Verifier {
        let app = SimulatedTraffic.app
        return Verifier(
            policy: VerificationPolicy(
                apps: [App(bundleID: app.bundleID, appAppleID: app.appAppleID)],
                environments: nil,
                roots: [try TrustedRoot(authority.root, environments: nil)]
            )
        )
    }

    /// The settings of a worker that uses the database and trusts this store.
    func workerSettings(database: String, of cluster: BenchmarkCluster) throws -> [String: String] {
        let root = try cluster.write(authority.root.pem, to: "root.pem")
        let app = SimulatedTraffic.app
        return [
            "DATABASE_URL": cluster.url(database, user: "appstore_worker"), "APPS": "\(app.bundleID):\(app.appAppleID ?? 0)",
            "EXTRA_ROOTS": "\(root):Production+Sandbox", "LOG_LEVEL": "info", "LOG_FORMAT": "text",
        ]
    }
}
