import AppStore
import AppStoreVerification
import ArgumentParser
import StrictJSON

/// `appstore-inbox verify`: verifies that data is signed by Apple, and prints its content.
struct VerifyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Verifies a compact JWS, a receipt or a notification's body from Apple, and prints the verdict.",
        discussion: """
            The command detects the kind of its input. A receipt may be binary or in base64. Of a notification V1 only the receipt is \
            signed, so that only the receipt is verified. Without --bundle-id or --environment any app or environment is accepted. An \
            option about a member that the payload lacks is ignored. Exit codes: 0 valid, 1 invalid, 2 wrong usage or unreadable input.
            """
    )

    @Argument(help: "The file to read; - for standard input.") var file = "-"
    @Option(help: "An app that is accepted; may be given several times.") var bundleId: [String] = []
    @Option(help: "The app's Apple id, required of Production payloads that hold one.") var appAppleId: Int64?
    @Option(help: "Production or Sandbox; may be given several times.") var environment: [String] = []
    @Option(help: "A root certificate (PEM or DER) instead of Apple's, for any environment; may be given several times.")
    var root: [String] = []
    @Flag var form = VerifyForm.json

    func validate() throws {
        for name in environment where !KnownWords.environments.words.contains(name) {
            throw ValidationError("--environment must be Production or Sandbox, not \"\(name)\"")
        }
    }

    func run() throws {
        let report: VerifyReport
        do {
            report = try VerifyInput(file: file).report(demands())
        } catch let error as VerifyInput.Unreadable {
            throw ValidationError(error.description)
        } catch let error as RootFile.Unusable {
            throw ValidationError("--root \(error)")
        }
        print(form == .json ? JSONSerializer.text(report.json) : report.text)
        throw report.isValid ? ExitCode.success : ExitCode(1)
    }

    private func demands() throws(RootFile.Unusable) -> VerifyDemands {
        var roots: [TrustedRoot] = []
        for path in root {
            roots += try RootFile(path: path).trusted(for: nil)
        }
        return VerifyDemands(
            bundleIDs: bundleId.isEmpty ? nil : bundleId,
            environments: environment.isEmpty ? nil : Set(environment.map(AppStoreEnvironment.init(rawValue:))),
            appAppleID: appAppleId,
            roots: root.isEmpty ? nil : roots
        )
    }
}

/// The format of the printed verdict.
enum VerifyForm: EnumerableFlag {
    case json, text

    static func help(for value: VerifyForm) -> ArgumentHelp? {
        switch value {
        case .json: "Print one JSON object (the default)."
        case .text: "Print readable text."
        }
    }
}
