import AppStore
import AppStoreVerification
import ArgumentParser
import FoundationEssentials

/// `appstore-inbox verify`: says whether something is signed by Apple, and what it holds.
struct VerifyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Verifies a compact JWS of Apple's or a notification's body, and prints a JSON object with the verdict.",
        discussion: """
            Without --bundle-id or --environment any is accepted, for looking at things. An option about something that the payload does \
            not hold does not apply to it. Exit codes: 0 valid, 1 invalid, 2 wrong usage or unreadable input.
            """
    )

    @Argument(help: "The file to read; - for standard input.") var file = "-"
    @Option(help: "An app that is accepted; may be given several times.") var bundleId: [String] = []
    @Option(help: "The app's Apple id, demanded of Production payloads that hold one.") var appAppleId: Int64?
    @Option(help: "Production or Sandbox; may be given several times.") var environment: [String] = []
    @Option(help: "A root certificate (PEM or DER) instead of Apple's, for any environment; may be given several times.")
    var root: [String] = []

    func validate() throws {
        for name in environment where name != "Production" && name != "Sandbox" {
            throw ValidationError("--environment must be Production or Sandbox, not \"\(name)\"")
        }
    }

    func run() throws {
        let report: VerifyReport
        do {
            report = try VerifyInput(file: file).report(policy: policy())
        } catch let error as VerifyInput.Unreadable {
            throw ValidationError(error.description)
        } catch let error as RootFile.Unusable {
            throw ValidationError("--root \(error)")
        }
        print(String(decoding: JSONSerializer.serialize(report.json), as: UTF8.self))
        throw report.isValid ? ExitCode.success : ExitCode(1)
    }

    private func policy() throws(RootFile.Unusable) -> VerificationPolicy {
        var roots: [TrustedRoot] = []
        for path in root {
            roots += try RootFile(path: path).trusted(for: nil)
        }
        return VerificationPolicy(
            apps: bundleId.isEmpty ? nil : bundleId.map { App(bundleID: $0, appAppleID: nil) },
            environments: environment.isEmpty ? nil : Set(environment.map(AppStoreEnvironment.init)),
            roots: root.isEmpty ? [.appleRootCAG3] : roots,
            appAppleID: appAppleId
        )
    }
}
