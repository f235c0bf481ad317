import AppStoreVerification
import Interpretation
import Worker

extension WorkerSettings {
    /// The reader of events, with everything that decides about them.
    ///
    /// - Throws: ``SettingsError`` when the file of a root cannot be used.
    func eventReader() throws(SettingsError) -> EventReader {
        EventReader(verifier: try verifier(), receipts: try receiptVerifier(), legacy: legacy)
    }

    /// The processor of events for the settings' roots, apps, environments and shared secrets.
    ///
    /// - Throws: ``SettingsError`` when the file of a root cannot be used.
    func processor(metrics: VerificationMetrics) throws(SettingsError) -> EventProcessor {
        EventProcessor(try eventReader(), metrics: metrics)
    }

    /// The secrets that are sent to verifyReceipt. Without the secret of an app, a worker makes no calls for it and leaves them to other
    /// workers.
    var outboundSecrets: SharedSecrets { verifyReceipt == .apple ? sharedSecrets : SharedSecrets() }

    /// The verifier of JWS for the settings' roots, apps and environments.
    ///
    /// - Throws: ``SettingsError`` when the file of a root cannot be used.
    func verifier() throws(SettingsError) -> Verifier {
        let roots = try trustedExtraRoots()
        return Verifier(policy: VerificationPolicy(apps: apps, environments: environments, roots: [.appleRootCAG3] + roots))
    }

    /// The verifier of receipts, which chain to another Apple root.
    ///
    /// - Throws: ``SettingsError`` when the file of a root cannot be used.
    func receiptVerifier() throws(SettingsError) -> ReceiptVerifier {
        let roots = try trustedExtraRoots()
        return ReceiptVerifier(policy: VerificationPolicy(apps: apps, environments: environments, roots: [.appleRootCA] + roots))
    }

    /// Which receipts are sent to verifyReceipt.
    var legacy: LegacySettings {
        let bundleIDs = apps.map(\.bundleID).filter { !sharedSecrets.secrets(of: $0).isEmpty }
        return LegacySettings(mode: verifyReceipt, appsWithSecret: Set(bundleIDs))
    }

    private func trustedExtraRoots() throws(SettingsError) -> [TrustedRoot] {
        var roots: [TrustedRoot] = []
        for root in extraRoots {
            do throws(RootFile.Unusable) {
                roots += try root.trusted()
            } catch {
                throw SettingsError(["\(Settings.extraRoots.description.name): \(error)"])
            }
        }
        return roots
    }
}
