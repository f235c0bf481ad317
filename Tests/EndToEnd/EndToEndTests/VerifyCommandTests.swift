import EndToEndTesting
import Foundation
import OpenSSL
import StoreSimulator
import StrictJSON
import Testing

extension EndToEndInterfaces {
    @Suite struct VerifyCommandTests {
        @Test func `verify distinguishes a genuine notification from a forged one`() async throws {
            try await withRoot { shop, root in
                var shop = shop
                var life = shop.makeCustomer()
                let purchase = try life.subscribe()
                let genuine = try await Program.run(["verify", "--root", root], input: shop.signer.sign(purchase).jws)
                #expect(genuine.ending == .exit(0), "\(genuine.errors)")
                let valid = try genuine.json()
                #expect((valid.text("verdict"), valid.text("kind")) == ("valid", "notification"))
                #expect(valid.object["reason"] == .null)
                #expect(valid.document("payload")?.text("notificationType") == "SUBSCRIBED")
                #expect(valid.document("transaction")?.text("transactionId") == purchase.transactionID)
                #expect(valid.document("renewalInfo")?.text("originalTransactionId") == purchase.originalTransactionID)

                let forged = try await Program.run(
                    ["verify", "--root", root, "-"],
                    input: shop.signer.forge(purchase, .transactionAltered).body
                )
                #expect(forged.ending == .exit(1))
                let invalid = try forged.json()
                #expect((invalid.text("verdict"), invalid.text("reason")) == ("invalid", "signature_invalid"))
                #expect(invalid.text("location") == "data.signedTransactionInfo")
                #expect(invalid.object["payload"] == .null)
            }
        }

        @Test func `verify checks what the options demand`() async throws {
            try await withRoot { shop, root in
                var shop = shop
                let body = try shop.body(shop.purchases(1)[0])
                let cases: [(options: [String], reason: String?)] = [
                    (["--bundle-id", "com.example.other", "--bundle-id", "com.example.tides"], nil),
                    (["--environment", "Sandbox", "--environment", "Production"], nil),
                    (["--bundle-id", "com.example.other"], "wrong_bundle"),
                    (["--environment", "Sandbox"], "wrong_environment"),
                ]
                for (options, reason) in cases {
                    let result = try await Program.run(["verify", "--root", root] + options, input: body)
                    #expect(result.ending == .exit(reason == nil ? 0 : 1), "\(options)")
                    #expect(try result.json().text("reason") == reason, "\(options)")
                }
                let apples = try await Program.run(["verify"], input: body)
                #expect(apples.ending == .exit(1))
                #expect(try apples.json().text("reason") == "untrusted_root")
            }
        }

        @Test(arguments: ["", " -"]) func `verify reads a pipe`(argument: String) async throws {
            try await withRoot { shop, root in
                var shop = shop
                let jws = try shop.signer.sign(try shop.purchases(1)[0]).jws
                let script = "cat | \"$1\" verify --text --root \"$2\"\(argument)"
                let result = try await Program.run(["-c", script, "sh", BuiltProgram.path(), root], input: jws, program: "/bin/sh")
                #expect(result.ending == .exit(0), "\(result.errors)")
                #expect(result.output.hasPrefix("valid: notification\n"), "\(result.output)")
                #expect(result.output.contains("signedTransactionInfo: (see data.signedTransactionInfo)"))
                #expect(result.output.contains("\ndata.signedTransactionInfo:\n"))
            }
        }

        @Test func `verify accepts what was signed before Apple named the environment`() async throws {
            try await withRoot { shop, root in
                var shop = shop
                var life = shop.makeCustomer()
                let purchase = try life.subscribe()
                let transaction = try #require(purchase.transaction)
                let jws = try shop.signer.sign(transaction, of: shop.app, signedDate: purchase.signedDate, shape: .year2021)
                let result = try await Program.run(["verify", "--root", root], input: jws)
                #expect(result.ending == .exit(0), "\(result.output)")
                let report = try result.json()
                #expect(report.document("payload")?.text("environment") == nil)
                #expect(report.text("note")?.contains("signed before Apple named the environment") == true)
            }
        }

        @Test func `verify says what it expected instead of junk, and of nothing`() async throws {
            let page = try await Program.run(["verify", "--text"], input: Array("<html>Bad gateway</html>".utf8))
            #expect(page.ending == .exit(1))
            #expect(
                page.output.hasPrefix("invalid: unknown_form in body (neither a signed payload (three base64url parts separated by dots)")
            )
            #expect(page.output.contains(#"it begins with "<htm""#) && !page.output.contains("gateway"))
            let nothing = try await Program.run(["verify"], input: [])
            #expect(nothing.ending == .exit(2))
            #expect(nothing.errors.contains("is empty. Expected is a signed payload"), "\(nothing.errors)")
        }

        @Test(arguments: [
            (["verify", "/nowhere/at/all.jws"], "/nowhere/at/all.jws cannot be read: there is no such file"),
            (["verify", "/etc"], "/etc cannot be read: it is a folder"),
            (["verify", "--root", "/nowhere/root.pem", "/etc/hosts"], "/nowhere/root.pem"),
            (["verify", "--environment", "Staging"], "--environment"), (["verify", "--nonsense"], "--nonsense"), (["verify", "-"], "-"),
        ])
        func `verify ends with 2 for wrong usage and unreadable input`(arguments: [String], named: String) async throws {
            let result = try await Program.run(arguments, input: [])
            #expect(result.ending == .exit(2))
            #expect(result.errors.contains(named), "\(result.errors)")
            #expect(result.output == "")
        }

        @Test(arguments: ["", " ", "junk", "a.b.c", #"{"signedPayload":1}"#, "{", #"{"other":"YQ.YQ.YQ"}"#])
        func `verify never crashes and never calls invalid input valid`(input: String) async throws {
            let result = try await Program.run(["verify"], input: Array(input.utf8))
            let isEmpty = input.allSatisfy(\.isWhitespace)
            #expect(result.ending == .exit(isEmpty ? 2 : 1), "\(result.errors)")
            if !isEmpty { #expect(try result.json().text("verdict") == "invalid") }
        }

        @Test(.enabled(if: AppleSamples.folder != nil, "APPSTORE_INBOX_SAMPLES does not name a folder of payloads that Apple signed"))
        func `every payload that Apple signed is valid`() async throws {
            let kinds = ["notification": "notification", "transaction": "transaction", "renewalinfo": "renewal-info"]
            for sample in try AppleSamples.all() {
                guard let path = AppleSamples.folder?.appending(path: sample.file).path else { continue }
                let result = try await Program.run(["verify", path])
                #expect(result.ending == .exit(0), "\(sample.file): \(result.output)")
                #expect(try result.json().text("kind") == kinds[sample.kind], "\(sample.file)")
            }
        }

        private func withRoot(_ body: (Shop, String) async throws -> Void) async throws {
            let shop = try Shop()
            let path = FileManager.default.temporaryDirectory.appending(path: "appstore-inbox-root-\(UUID().uuidString).pem")
            try Data(shop.authority.root.pem.utf8).write(to: path)
            defer { try? FileManager.default.removeItem(at: path) }
            try await body(shop, path.path)
        }
    }
}
