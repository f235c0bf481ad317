import AppStore
import Foundation
import Randomness
import Testing

struct ReceiptInputTests {
    private static let transaction = """
        {
        \t"signature" = "Abc=";
        \t"purchase-info" = "ewoJImJpZCIgPSAiY29tLmV4YW1wbGUiOwoJInRyYW5zYWN0aW9uLWlkIiA9ICIzMzk5MzM5OSI7Cn0=";
        \t"environment" = "Sandbox";
        \t"pod" = "100";
        \t"signing-status" = "0";
        }
        """

    @Test func `ASN.1 is recognised raw and in base64, with or without line breaks`() {
        let encoding: [UInt8] = [0x30, 0x82, 0x00, 0x02] + [5, 0]
        let text = Base64.encode(encoding)
        let broken = " \(text.prefix(3))\r\n\(text.dropFirst(3))\n"
        for input in [encoding, Array(text.utf8), Array(broken.utf8)] {
            #expect(ReceiptInput(input[...]) == .appReceipt(encoding))
        }
    }

    @Test func `a transaction receipt is recognised`() throws {
        for input in [Self.transaction, Base64.encode(Array(Self.transaction.utf8))] {
            guard case .transactionReceipt(let receipt) = ReceiptInput(Array(input.utf8)[...]) else {
                Issue.record("not recognised")
                continue
            }
            #expect(receipt.environment == "Sandbox")
            #expect(receipt.purchase == ["bid": "com.example", "transaction-id": "33993399"])
        }
    }

    @Test func `other inputs are classified`() {
        #expect(ReceiptInput([]) == .empty)
        #expect(ReceiptInput(Array(" \n".utf8)[...]) == .empty)
        #expect(ReceiptInput(Array("not base64!".utf8)[...]) == .notBase64)
        #expect(ReceiptInput(Array("aGVsbG8=".utf8)[...]) == .other)
        #expect(ReceiptInput(Array(#"{"receipt": 1}"#.utf8)[...]) == .notBase64)
        #expect(ReceiptInput(Array(Self.transaction.utf8).dropLast(2)[...]) == .notBase64)
    }

    @Test func `a truncated transaction receipt is refused without a crash`() {
        let text = Array(Self.transaction.utf8)
        for count in 0..<text.count { #expect(TransactionReceipt(text[..<count]) == nil, "\(count)") }
    }

    @Test(arguments: 1...20) func `lenient Base64 decodes the strict encoding with any white space`(seed: Int) {
        var generator = SeededGenerator(seed: UInt64(seed))
        for _ in 0..<200 {
            let bytes = generator.bytes(Int.random(in: 0...60, using: &generator))
            var text = Array(Base64.encode(bytes).utf8)
            #expect(Base64.decodeLoosely(text[...]) == bytes, "seed \(seed)")
            for _ in 0..<Int.random(in: 0...5, using: &generator) {
                text.insert(
                    [0x0a, 0x0d, 0x20, 0x09].randomElement(using: &generator) ?? 0x20,
                    at: .random(in: 0...text.count, using: &generator)
                )
            }
            #expect(Base64.decodeLoosely(text[...]) == bytes, "seed \(seed)")
            #expect(Array(Data(base64Encoded: Data(text), options: .ignoreUnknownCharacters) ?? Data()) == bytes, "seed \(seed)")
        }
    }

    @Test(arguments: ["A", "AA", "AAA", "AA=", "AA===", "AAAA=", "AAAA====", "AA=A", "A===", "A-==", "AAA=AAAA", "====", "="])
    func `wrong padding and other alphabets are refused`(text: String) {
        #expect(Base64.decodeLoosely(Array(text.utf8)[...]) == nil)
    }

    @Test func `trailing bits are ignored, as in verifyReceipt`() {
        #expect(Base64.decodeLoosely(Array("AB==".utf8)[...]) == [0] && Base64.decode("AB==") == nil)
    }
}
