internal import AppStore
internal import OpenSSL

extension VerificationPolicy {
    /// Checks the environment, app and signing date of a genuine payload.
    func check(_ subject: Subject, of payload: SignedPayload, receivedAt: Timestamp) throws(Flaw) {
        try checkEnvironment(of: subject, anchor: payload.anchor)
        try checkApp(of: subject)
        guard payload.signedDate <= receivedAt.advanced(by: clockTolerance) else { throw Flaw(.signedInTheFuture) }
    }

    private func checkEnvironment(of subject: Subject, anchor: Certificate) throws(Flaw) {
        let environment = subject.environment
        guard environment != nil || subject.kind != .notification else { throw Flaw(.environmentMissing) }
        guard environment != .xcode, environment != .localTesting else { throw Flaw(.environmentNotSupported) }
        guard roots.contains(where: { $0.certificate == anchor && $0.isTrusted(for: environment) }) else {
            throw Flaw(.environmentNotTrustedByRoot)
        }
        // Old transactions and renewal infos name none; the enclosing notification is checked instead.
        if let environments, let environment, !environments.contains(environment) { throw Flaw(.wrongEnvironment) }
    }

    private func checkApp(of subject: Subject) throws(Flaw) {
        // A renewal info names no app; the enclosing notification does.
        guard subject.kind != .renewalInfo else { return }
        var required = [appAppleID]
        if let apps {
            guard let bundleID = subject.bundleID else { throw Flaw(.bundleMissing) }
            let configured = apps.filter { $0.bundleID == bundleID }
            guard !configured.isEmpty else { throw Flaw(.wrongBundle) }
            required += configured.map(\.appAppleID)
        }
        guard required.allSatisfy({ Self.isMet($0, by: subject) }) else { throw Flaw(.wrongAppAppleID) }
    }

    /// In the sandbox the number may be absent or zero, and a standalone transaction has none.
    private static func isMet(_ required: Int64?, by subject: Subject) -> Bool {
        guard let required, subject.environment == .production, subject.kind != .transaction else { return true }
        return subject.appAppleID == required
    }
}
