import ArgumentParser
import Commands
import Foundation
import StrictJSON
import WebhookReceiver

/// `appstore-inbox-lab receive`: a receiver of webhooks.
struct ReceiveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "receive",
        abstract: "Receives webhooks on this machine, verifies their signatures and prints a line for each.",
        discussion: """
            Give the URL that it prints first to `appstore-inbox endpoint create`, and the secret that this prints to --secret-file, which may \
            be missing until then. A webhook with a good signature is answered with 204, others with 401. Each line is the type, the user, \
            the contract and the position. It runs until it is ended.
            """
    )

    @Option(help: "The port; 0 takes a free one.") var port = 0
    @Option(help: "A file that contains the secret (whsec_…). It is read for each webhook.", completion: .file()) var secretFile: String

    func run() async throws {
        let path = secretFile
        let receiver = try await WebhookReceiver.start(port: port) { webhook in
            let isSigned = Self.secret(at: path).map(webhook.isSigned(with:)) ?? false
            StandardOutput.write((isSigned ? "signed   " : "REFUSED  ") + Self.line(webhook) + "\n")
            return WebhookReceiver.Answer(isSigned ? 204 : 401)
        }
        StandardOutput.write("http://127.0.0.1:\(receiver.port)/webhooks\n")
        while !Task.isCancelled { try await Task.sleep(for: .seconds(3600)) }
    }

    private static func secret(at path: String) -> String? {
        do {
            return try String(contentsOfFile: path, encoding: .utf8).trimmingCharacters(in: .whitespacesAndNewlines)
        } catch {
            StandardOutput.write("there is no secret yet: \(error.localizedDescription)\n")
            return nil
        }
    }

    private static func line(_ webhook: ReceivedWebhook) -> String {
        let event: JSONObject
        do {
            event = try JSONParser().parseObject(webhook.body)
        } catch {
            return "\(webhook.body.count) bytes that are no JSON"
        }
        guard let type = event.word("type") else { return "a notification of Apple, \(webhook.body.count) bytes" }
        let data: JSONObject = if case .object(let data)? = event["data"] { data } else { [:] }
        let words = [type, data.word("user") ?? "-", data.word("subject") ?? "-", "#\(event.word("position") ?? "-")"]
        return words.joined(separator: "  ")
    }
}

extension JSONObject {
    fileprivate func word(_ name: String) -> String? {
        switch self[name] {
        case .string(let text)?: text
        case .number(let number)?: number.text
        default: nil
        }
    }
}
