/** What a POST sends: a form or JSON, encoded. */
export type CallBody = Readonly<{
  type: "application/x-www-form-urlencoded" | "application/json";
  text: string;
}>;
