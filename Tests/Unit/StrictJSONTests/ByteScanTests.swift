import StrictJSON
import Testing

struct ByteScanTests {
    /// Up to the lengths that a string holds in itself, and longer ones.
    @Test(arguments: [0, 1, 7, 8, 15, 16, 17, 40])
    func `a NUL is found at every place of a string`(length: Int) {
        let text = String(repeating: "ä", count: length)
        #expect(!text.hasNUL)
        for place in 0...length {
            let characters = Array(text)
            let withNUL = String(characters[..<place]) + "\0" + String(characters[place...])
            #expect(withNUL.hasNUL, "at \(place)")
            #expect(String(withNUL.dropFirst(place + 1)).hasNUL == false)
        }
    }

    @Test(arguments: [0, 1, 7, 8, 9, 40])
    func `the first index of a byte is at or after the start`(length: Int) {
        for place in 0..<length {
            var bytes = [UInt8](repeating: 1, count: length)
            (bytes[place], bytes[length - 1]) = (2, 2)
            bytes.withUnsafeBufferPointer { buffer in
                for start in 0...length + 1 {
                    let expected = start <= place ? place : start < length ? length - 1 : nil
                    #expect(ByteScan.firstIndex(of: 2, in: buffer, from: start) == expected, "from \(start)")
                }
                #expect(ByteScan.firstIndex(of: 3, in: buffer, from: 0) == nil)
            }
        }
        [UInt8]().withUnsafeBufferPointer { #expect(ByteScan.firstIndex(of: 0, in: $0, from: 0) == nil) }
    }
}
