internal import AppStore
internal import OpenSSL

extension ReceiptPolicy {
    /// Checks the environment, app and creation date of a genuine receipt.
    func check(_ receipt: AppReceipt, madeAt creationDate: Timestamp, anchor: Certificate, receivedAt: Timestamp) throws(ReceiptRejection)
        -> (AppStoreEnvironment, bundleID: String)
    {
        let environment = try checkEnvironment(of: receipt, anchor: anchor)
        let bundleID = try checkApp(of: receipt, in: environment)
        guard creationDate <= receivedAt.advanced(by: clockTolerance) else {
            throw ReceiptRejection(.signedInTheFuture, receipt: receipt)
        }
        return (environment, bundleID)
    }

    private func checkEnvironment(of receipt: AppReceipt, anchor: Certificate) throws(ReceiptRejection) -> AppStoreEnvironment {
        guard let environment = receipt.environment else { throw ReceiptRejection(.environmentMissing, receipt: receipt) }
        guard environment != .xcode, environment != .localTesting else {
            throw ReceiptRejection(.environmentNotSupported, receipt: receipt)
        }
        guard roots.contains(where: { $0.certificate == anchor && $0.isTrusted(for: environment) }) else {
            throw ReceiptRejection(.environmentNotTrustedByRoot, receipt: receipt)
        }
        if let environments, !environments.contains(environment) { throw ReceiptRejection(.wrongEnvironment, receipt: receipt) }
        return environment
    }

    private func checkApp(of receipt: AppReceipt, in environment: AppStoreEnvironment) throws(ReceiptRejection) -> String {
        guard let bundleID = receipt.bundleID else { throw ReceiptRejection(.bundleMissing, receipt: receipt) }
        guard let apps else { return bundleID }
        let configured = apps.filter { $0.bundleID == bundleID }
        guard !configured.isEmpty else { throw ReceiptRejection(.wrongBundle, receipt: receipt) }
        // Sandbox receipts have no number.
        if environment == .production, let number = receipt.appItemID {
            guard configured.contains(where: { ($0.appAppleID ?? number) == number }) else {
                throw ReceiptRejection(.wrongAppAppleID, receipt: receipt)
            }
        }
        return bundleID
    }
}
