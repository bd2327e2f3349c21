<?php
// Makes signed calls with PECL's oauth: a job as JSON on stdin, status and body of each call as JSON on stdout.
$types = ["header" => OAUTH_AUTH_TYPE_AUTHORIZATION, "query" => OAUTH_AUTH_TYPE_URI, "body" => OAUTH_AUTH_TYPE_FORM];

$job = json_decode(stream_get_contents(STDIN), true);
$answers = [];
foreach ($job["calls"] as $call) {
    $key = array_merge($job["key"], $call["key"] ?? []);
    $oauth = new OAuth($key["consumerKey"], $key["consumerSecret"], OAUTH_SIG_METHOD_HMACSHA1, $types[$call["place"]]);
    $oauth->setToken($key["token"], $key["tokenSecret"]);
    $url = $job["base"] . $call["path"];
    $pairs = array_map(fn ($pair) => rawurlencode($pair[0]) . "=" . rawurlencode($pair[1]), $call["parameters"]);
    $isGet = $call["method"] === "GET";
    if ($isGet && $pairs) $url .= "?" . implode("&", $pairs);
    try {
        $oauth->fetch($url, $isGet ? null : array_column($call["parameters"], 1, 0), $call["method"]);
        $body = $oauth->getLastResponse();
    } catch (OAuthException $error) {
        // Thrown for each status from 400 on.
        $body = $error->lastResponse;
    }
    $answers[] = ["status" => $oauth->getLastResponseInfo()["http_code"], "body" => $body];
}
echo json_encode($answers);
