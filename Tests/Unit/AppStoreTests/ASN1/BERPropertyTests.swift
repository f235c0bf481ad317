import Randomness
import Testing

@testable import AppStore

struct BERPropertyTests {
    @Test(arguments: 1...20) func `random bytes neither crash a reader nor make it read out of bounds`(seed: Int) {
        var generator = SeededGenerator(seed: UInt64(seed))
        let likely: [UInt8] = [0x30, 0x31, 0x80, 0x00, 0x04, 0x24, 0x02, 0x01, 0x82, 0x81, 0xa0, 0x0c, 0x16, 0x06]
        for _ in 0..<2000 {
            let bytes = (0..<Int.random(in: 0...60, using: &generator)).map { _ in
                Bool.random(using: &generator) ? likely.randomElement(using: &generator) ?? 0 : UInt8.random(in: 0...255, using: &generator)
            }
            walk(bytes)
            _ = Result { try SignedReceipt(bytes[...]) }
            _ = Result { try AppReceipt(content: bytes) }
        }
    }

    @Test(arguments: 1...20) func `a segmented octet string equals the unsegmented one`(seed: Int) throws {
        var generator = SeededGenerator(seed: UInt64(seed))
        for _ in 0..<100 {
            let content = generator.bytes(Int.random(in: 0...300, using: &generator))
            let encoding = segmented(content, depth: 4, &generator)
            let octets = try encoding.withUnsafeBufferPointer { bytes throws(ASN1Error) in
                var reader = BERReader(bytes)
                let octets = try reader.readOctets()
                try reader.expectEnd()
                return octets
            }
            #expect(octets == content, "seed \(seed)")
        }
    }

    private func segmented(_ content: [UInt8], depth: Int, _ generator: inout SeededGenerator) -> [UInt8] {
        guard depth > 0, Bool.random(using: &generator) else {
            return [0x04, 0x82, UInt8(content.count >> 8), UInt8(content.count & 255)] + content
        }
        let middle = Int.random(in: 0...content.count, using: &generator)
        let parts =
            segmented(Array(content[..<middle]), depth: depth - 1, &generator)
            + segmented(Array(content[middle...]), depth: depth - 1, &generator)
        if Bool.random(using: &generator) { return [0x24, 0x80] + parts + [0, 0] }
        return [0x24, 0x82, UInt8(parts.count >> 8), UInt8(parts.count & 255)] + parts
    }

    /// Recurses into every constructed element.
    private func walk(_ bytes: [UInt8]) {
        bytes.withUnsafeBufferPointer { buffer in
            var open = [BERReader(buffer)]
            while var reader = open.popLast() {
                do throws(ASN1Error) {
                    while !reader.isAtEnd {
                        let element = try reader.next()
                        #expect(element.content.upperBound <= bytes.count && element.end <= bytes.count)
                        if element.tag.isConstructed { open.append(reader.reader(in: element)) }
                    }
                } catch {
                    #expect((0...bytes.count).contains(error.offset))
                }
            }
        }
    }
}
