import Testing

@testable import HTTPServing

struct PathTemplateTests {
    private let template = PathTemplate("/v1/users/{user}/entitlements")

    @Test(arguments: [
        ("/v1/users/ann/entitlements", "ann"), ("/v1/users/a%2Fb/entitlements", "a/b"), ("/v1/users/a%252Fb/entitlements", "a%2Fb"),
        ("/v1/users/%e6%97%a5/entitlements", "日"), ("/v1/users/a+b/entitlements", "a+b"), ("/v1/users/../entitlements", ".."),
    ])
    func `a variable segment is decoded once`(path: String, user: String) throws {
        #expect(try template.values(in: path)?["user"] == user)
    }

    @Test(arguments: [
        "/v1/users/entitlements", "/v1/users//entitlements", "/v1/users/a/b/entitlements", "/v1/users/ann/entitlements/",
        "/v1/USERS/ann/entitlements", "v1/users/ann/entitlements", "/v1/users/ann", "", "/", "/v1/us%65rs/ann/entitlements",
    ])
    func `other paths do not match`(path: String) throws {
        #expect(try template.values(in: path) == nil)
    }

    @Test(arguments: ["%", "%4", "%zz", "%ff", "a%c3", "%ed%a0%80"])
    func `a segment that is not percent-encoded UTF-8 is refused`(segment: String) {
        #expect(throws: Problem.malformedPath) { try template.values(in: "/v1/users/\(segment)/entitlements") }
    }

    @Test func `a path without variable segments is fixed`() throws {
        #expect(PathTemplate("/v1/orders").isFixed)
        #expect(!template.isFixed)
        #expect(try PathTemplate("/v1/orders").values(in: "/v1/orders") == [:])
    }
}
