internal import AppStore
internal import OpenSSL

extension VerificationPolicy {
    /// Checks what a genuine payload is about: its environment, its app, and that it was not signed in the future.
    func check(_ subject: Subject, of payload: SignedPayload, receivedAt: Timestamp) throws(Flaw) {
        try checkEnvironment(of: subject, anchor: payload.anchor)
        try checkApp(of: subject)
        guard payload.signedDate <= receivedAt.advanced(by: clockTolerance) else { throw Flaw(.signedInTheFuture) }
    }

    private func checkEnvironment(of subject: Subject, anchor: Certificate) throws(Flaw) {
        let environment = subject.environment
        guard environment != nil || subject.kind != .notification else { throw Flaw(.environmentMissing) }
        guard environment != .xcode, environment != .localTesting else { throw Flaw(.environmentNotSupported) }
        guard roots.contains(where: { $0.certificate == anchor && $0.vouches(for: environment) }) else {
            throw Flaw(.environmentNotTrustedByRoot)
        }
        // Old transactions and renewal infos name none, and then the notification around them decides.
        if let environments, let environment, !environments.contains(environment) { throw Flaw(.wrongEnvironment) }
    }

    private func checkApp(of subject: Subject) throws(Flaw) {
        // A renewal info names no app; what it came with does.
        guard subject.kind != .renewalInfo else { return }
        var demanded = [appAppleID]
        if let apps {
            guard let bundleID = subject.bundleID else { throw Flaw(.bundleMissing) }
            let configured = apps.filter { $0.bundleID == bundleID }
            guard !configured.isEmpty else { throw Flaw(.wrongBundle) }
            demanded += configured.map(\.appAppleID)
        }
        guard demanded.allSatisfy({ Self.isMet($0, by: subject) }) else { throw Flaw(.wrongAppAppleID) }
    }

    /// In the sandbox the number may be missing or zero, and a transaction by itself never has one.
    private static func isMet(_ demanded: Int64?, by subject: Subject) -> Bool {
        guard let demanded, subject.environment == .production, subject.kind != .transaction else { return true }
        return subject.appAppleID == demanded
    }
}
