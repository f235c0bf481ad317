import AppStoreVerification
import OpenSSL

/// What a start of the daemons would refuse, and what it would warn of.
extension DoctorCheck {
    @Sendable static func settings(_ context: DoctorContext) -> [Finding] {
        let reader = context.daemons
        guard context.fileProblems.isEmpty else {
            return context.fileProblems.map { .failure("settings", $0, "correct the file, without which the checks use defaults") }
        }
        var findings: [Finding] = []
        var known: Set<String> = []
        let ingest = problems { () throws(SettingsError) in _ = try IngestSettings(reader) }
        var warnings: [String] = []
        let worker = problems { () throws(SettingsError) in warnings = try WorkerSettings(reader).warnings }
        for (name, problems) in [("ingest", ingest), ("worker", worker)] {
            if problems.isEmpty { findings.append(.ok("settings", "\(name) can start with them")) }
            findings += problems.filter { known.insert($0).inserted }.map(refused)
        }
        return findings
            + (reader.misspeltVariables + reader.strangeSecrets + reader.strangeIssuers + warnings).map {
                .warning("settings", $0, "correct it, unless it is meant")
            }
    }

    private static func problems(_ read: () throws(SettingsError) -> Void) -> [String] {
        do throws(SettingsError) {
            try read()
            return []
        } catch {
            return error.problems
        }
    }

    private static func refused(_ problem: String) -> Finding {
        guard problem.hasSuffix("permission denied") else {
            return .failure("settings", problem, "correct it; --config names the file that the daemons read")
        }
        return .unknown("settings", problem, "run this as a user who may read it, such as root")
    }

    @Sendable static func sharedSecrets(_ context: DoctorContext) -> [Finding] {
        do throws(SettingsError) {
            guard let found = try context.daemons.sharedSecrets() else {
                return [.ok("shared secrets", "none here; a unit may load some as a credential")]
            }
            return [.ok("shared secrets", "\(found.summary), from \(found.place)")]
        } catch {
            // The check of the settings reports it.
            return []
        }
    }

    /// Apple's roots and those of the settings. Files that cannot be read are reported by the check of the settings.
    @Sendable static func certificates(_ context: DoctorContext) -> [Finding] {
        var roots = [("Apple Root CA - G3", TrustedRoot.appleRootCAG3.certificate), ("Apple Root CA", TrustedRoot.appleRootCA.certificate)]
        let extra = context.daemons.valid(Settings.extraRoots)?.map(\.path) ?? []
        for path in extra + (context.daemons.valid(Settings.outboundRoots) ?? []) {
            do { roots += try RootFile(path: path).certificates.map { (path, $0) } } catch { continue }
        }
        return roots.map { name, certificate in
            .expiry(name, certificate.notAfter, now: Int64(now()), days: 90, "put a newer certificate into the file, or update the program")
        }
    }
}
